-- +goose Up
CREATE TABLE code_runs (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    at timestamptz NOT NULL,
    principal text NOT NULL,
    code text NOT NULL,
    input text NOT NULL,
    input_cut boolean NOT NULL,
    outcome text NOT NULL,
    ok boolean NOT NULL,
    phase text NOT NULL,
    calls bigint NOT NULL,
    duration_ms bigint NOT NULL,
    timeout_ms bigint NOT NULL,
    dry_run boolean NOT NULL,
    seed_at timestamptz NOT NULL,
    seed_random bigint NOT NULL
);
CREATE INDEX code_runs_project ON code_runs (project_id, id);

-- +goose Down
DROP TABLE code_runs;
