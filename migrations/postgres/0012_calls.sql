-- +goose Up
CREATE TABLE calls (
    id text PRIMARY KEY,
    at timestamptz NOT NULL,
    project_id text NOT NULL,
    principal text NOT NULL,
    tool text NOT NULL,
    server text NOT NULL,
    duration_us bigint NOT NULL,
    request_bytes bigint NOT NULL,
    response_bytes bigint NOT NULL,
    outcome text NOT NULL,
    code text NOT NULL,
    request_id text NOT NULL
);
CREATE INDEX calls_project ON calls (project_id, id);
CREATE INDEX calls_age ON calls (at);

-- +goose Down
DROP TABLE calls;
