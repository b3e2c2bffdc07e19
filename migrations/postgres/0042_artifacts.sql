-- +goose Up
-- Values that code stored, results that were too large, and the size from which
-- results are.
CREATE TABLE artifacts (
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    principal text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('json', 'text')),
    bytes bigint NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (project_id, principal, name)
);
CREATE INDEX artifacts_age ON artifacts (project_id, principal, created_at, bytes);
CREATE INDEX artifacts_expiry ON artifacts (expires_at);
ALTER TABLE projects ADD COLUMN result_limit bigint NOT NULL DEFAULT 0;
ALTER TABLE servers ADD COLUMN result_limit bigint;

-- +goose Down
ALTER TABLE servers DROP COLUMN result_limit;
ALTER TABLE projects DROP COLUMN result_limit;
DROP TABLE artifacts;
