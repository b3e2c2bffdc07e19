-- +goose Up
DROP TABLE connection_leases;

-- +goose Down
CREATE TABLE connection_leases (
    server_id text PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    owner text NOT NULL,
    until datetime NOT NULL
);
