-- +goose Up
CREATE TABLE ended_sessions (
    hash bytea PRIMARY KEY,
    expires_at timestamptz NOT NULL
);
CREATE INDEX ended_sessions_expiry ON ended_sessions (expires_at);

-- +goose Down
DROP TABLE ended_sessions;
