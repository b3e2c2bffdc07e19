-- +goose Up
ALTER TABLE projects ADD COLUMN oauth_access text NOT NULL DEFAULT 'anyone' CHECK (oauth_access IN ('anyone', 'members'));

CREATE TABLE oauth_clients (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('dcr', 'cimd')),
    name text NOT NULL,
    redirect_uris text NOT NULL,
    auth_method text NOT NULL,
    secret_hash blob NOT NULL,
    created_at datetime NOT NULL,
    fresh_until datetime,
    last_used_at datetime
);
CREATE INDEX oauth_clients_used ON oauth_clients (last_used_at, created_at);

CREATE TABLE oauth_codes (
    hash blob PRIMARY KEY,
    grant_id text NOT NULL,
    client_id text NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    redirect_uri text NOT NULL,
    redirect_name text NOT NULL,
    challenge text NOT NULL,
    scopes text NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    used_at datetime
);
CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);
CREATE INDEX oauth_codes_client ON oauth_codes (client_id);
CREATE INDEX oauth_codes_user ON oauth_codes (user_id);
CREATE INDEX oauth_codes_project ON oauth_codes (project_id);

CREATE TABLE oauth_grants (
    id text PRIMARY KEY,
    client_id text NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    scopes text NOT NULL,
    redirect_name text NOT NULL,
    created_at datetime NOT NULL,
    last_used_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    revoked_at datetime
);
CREATE INDEX oauth_grants_user ON oauth_grants (user_id, created_at);
CREATE INDEX oauth_grants_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_project ON oauth_grants (project_id);

CREATE TABLE oauth_tokens (
    hash blob PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('access', 'refresh')),
    grant_id text NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    scopes text NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    used_at datetime
);
CREATE INDEX oauth_tokens_grant ON oauth_tokens (grant_id, kind, created_at);
CREATE INDEX oauth_tokens_expiry ON oauth_tokens (expires_at);

CREATE TABLE oauth_limits (
    subject text PRIMARY KEY,
    started_at datetime NOT NULL,
    uses integer NOT NULL
);

-- +goose Down
DROP TABLE oauth_limits;
DROP TABLE oauth_tokens;
DROP TABLE oauth_grants;
DROP TABLE oauth_codes;
DROP TABLE oauth_clients;
ALTER TABLE projects DROP COLUMN oauth_access;
