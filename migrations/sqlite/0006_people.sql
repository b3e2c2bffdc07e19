-- +goose Up
CREATE TABLE users (
    id text PRIMARY KEY,
    email text NOT NULL,
    email_fold text NOT NULL UNIQUE,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('admin', 'viewer', 'member')),
    password_hash text NOT NULL,
    oidc_issuer text NOT NULL,
    oidc_subject text NOT NULL,
    disabled_at datetime,
    created_at datetime NOT NULL,
    last_login_at datetime
);
CREATE UNIQUE INDEX users_identity ON users (oidc_issuer, oidc_subject) WHERE oidc_subject <> '';

CREATE TABLE browser_sessions (
    hash blob PRIMARY KEY,
    id text NOT NULL UNIQUE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at datetime NOT NULL,
    last_seen_at datetime NOT NULL,
    authenticated_at datetime NOT NULL,
    ip text NOT NULL,
    user_agent text NOT NULL,
    revoked_at datetime
);
CREATE INDEX browser_sessions_user ON browser_sessions (user_id, created_at);

CREATE TABLE project_members (
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at datetime NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX project_members_user ON project_members (user_id);

CREATE TABLE setups (
    id integer PRIMARY KEY CHECK (id = 1),
    user_id text NOT NULL,
    completed_at datetime NOT NULL
);

CREATE TABLE setup_tokens (
    hash blob PRIMARY KEY,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL
);

CREATE TABLE login_limits (
    subject text PRIMARY KEY,
    started_at datetime NOT NULL,
    attempts integer NOT NULL
);

CREATE TABLE spent_sign_ins (
    hash blob PRIMARY KEY,
    expires_at datetime NOT NULL
);

-- +goose Down
DROP TABLE spent_sign_ins;
DROP TABLE login_limits;
DROP TABLE setup_tokens;
DROP TABLE setups;
DROP TABLE project_members;
DROP TABLE browser_sessions;
DROP TABLE users;
