-- +goose Up
CREATE TABLE session_levels (
    session text NOT NULL PRIMARY KEY,
    level text NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX session_levels_expiry ON session_levels (expires_at);

-- +goose Down
DROP TABLE session_levels;
