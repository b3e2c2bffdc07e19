-- +goose Up
-- Finds the users with whose connections the tools of a server are read.
CREATE INDEX personal_connections_readers ON personal_connections (server_id, inventory_ok, connected_at, user_id);

-- +goose Down
DROP INDEX personal_connections_readers;
