-- +goose Up
-- Authenticator apps, which show a code that changes every 30 seconds (RFC 6238).
CREATE TABLE authenticator_apps (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL,
    secret text NOT NULL,
    last_step integer NOT NULL DEFAULT 0,
    created_at datetime NOT NULL,
    used_at datetime
);
CREATE INDEX authenticator_apps_by_user ON authenticator_apps (user_id);

-- Passkeys (W3C Web Authentication): public keys of users' devices.
CREATE TABLE passkeys (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL,
    credential_id blob NOT NULL UNIQUE,
    credential text NOT NULL,
    created_at datetime NOT NULL,
    used_at datetime
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Codes that replace a lost factor, each once.
CREATE TABLE recovery_codes (
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash blob NOT NULL,
    created_at datetime NOT NULL,
    used_at datetime,
    PRIMARY KEY (user_id, hash)
);

-- +goose Down
DROP TABLE recovery_codes;
DROP TABLE passkeys;
DROP TABLE authenticator_apps;
