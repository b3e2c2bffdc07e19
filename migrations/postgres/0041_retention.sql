-- +goose Up
-- What a project stores for how long, and the end of the rows that were removed
-- from the audit log.
ALTER TABLE projects ADD COLUMN retention_calls bigint NOT NULL DEFAULT 7;
ALTER TABLE projects ADD COLUMN retention_payloads bigint NOT NULL DEFAULT 3;
ALTER TABLE projects ADD COLUMN retention_runs bigint NOT NULL DEFAULT 200;
CREATE TABLE audit_anchors (
    id bigint PRIMARY KEY,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    at timestamptz NOT NULL,
    row_key_id text NOT NULL,
    key_id text NOT NULL,
    mac bytea NOT NULL
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
