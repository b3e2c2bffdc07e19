-- +goose Up
-- Links that let invited users choose a password. A user has at most one.
CREATE TABLE invites (
    hash bytea PRIMARY KEY,
    user_id text NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE invites;
