-- +goose Up
-- A sync changes one server of a project. Without a row of what it changed,
-- every process read all of them again. The project is no foreign key: a check
-- of it would lock its row, and who changes that waits for the revision that a
-- sync holds.
CREATE TABLE inventory_changes (
    server_id text NOT NULL PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    project_id text NOT NULL,
    revision integer NOT NULL
);
CREATE INDEX inventory_changes_later ON inventory_changes (project_id, revision);

-- +goose Down
DROP TABLE inventory_changes;
