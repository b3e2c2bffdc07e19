-- +goose Up
CREATE TABLE listings (
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('prompt', 'resource', 'template')),
    ident text NOT NULL,
    position integer NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY (server_id, kind, ident)
);

-- +goose Down
DROP TABLE listings;
