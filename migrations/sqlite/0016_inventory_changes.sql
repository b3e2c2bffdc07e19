-- +goose Up
-- A sync changes one server of a project. Without a row per change, every
-- process reloaded all servers. project_id has no foreign key: its check would
-- lock the project's row while a writer of that row waits for the sync.
CREATE TABLE inventory_changes (
    server_id text NOT NULL PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    project_id text NOT NULL,
    revision integer NOT NULL
);
CREATE INDEX inventory_changes_later ON inventory_changes (project_id, revision);

-- +goose Down
DROP TABLE inventory_changes;
