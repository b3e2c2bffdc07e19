-- +goose Up
CREATE TABLE calls (
    id text PRIMARY KEY,
    at datetime NOT NULL,
    project_id text NOT NULL,
    principal text NOT NULL,
    tool text NOT NULL,
    server text NOT NULL,
    duration_us integer NOT NULL,
    request_bytes integer NOT NULL,
    response_bytes integer NOT NULL,
    outcome text NOT NULL,
    code text NOT NULL,
    request_id text NOT NULL
);
CREATE INDEX calls_project ON calls (project_id, id);
CREATE INDEX calls_age ON calls (at);

-- +goose Down
DROP TABLE calls;
