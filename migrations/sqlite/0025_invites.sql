-- +goose Up
-- Links that let invited users choose a password. A user has at most one.
CREATE TABLE invites (
    hash blob PRIMARY KEY,
    user_id text NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL
);

-- +goose Down
DROP TABLE invites;
