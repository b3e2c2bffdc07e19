-- +goose Up
-- What a project stores for how long, and the end of the rows that were removed
-- from the audit log.
ALTER TABLE projects ADD COLUMN retention_calls integer NOT NULL DEFAULT 7;
ALTER TABLE projects ADD COLUMN retention_payloads integer NOT NULL DEFAULT 3;
ALTER TABLE projects ADD COLUMN retention_runs integer NOT NULL DEFAULT 200;
CREATE TABLE audit_anchors (
    id integer PRIMARY KEY,
    seq integer NOT NULL,
    hash blob NOT NULL,
    at datetime NOT NULL,
    row_key_id text NOT NULL,
    key_id text NOT NULL,
    mac blob NOT NULL
);
DROP INDEX call_payloads_project;
CREATE INDEX call_payloads_project ON call_payloads (project_id, at);

-- +goose Down
DROP INDEX call_payloads_project;
CREATE INDEX call_payloads_project ON call_payloads (project_id);
DROP TABLE audit_anchors;
ALTER TABLE projects DROP COLUMN retention_runs;
ALTER TABLE projects DROP COLUMN retention_payloads;
ALTER TABLE projects DROP COLUMN retention_calls;
