-- +goose Up
CREATE TABLE session_resources (
    session text NOT NULL,
    uri_hash bytea NOT NULL,
    uri text NOT NULL,
    project_id text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (session, uri_hash)
);
CREATE INDEX session_resources_expiry ON session_resources (expires_at);

-- +goose Down
DROP TABLE session_resources;
