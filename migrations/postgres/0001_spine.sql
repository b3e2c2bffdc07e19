-- +goose Up
CREATE TABLE projects (
    id text PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    name text NOT NULL,
    description text NOT NULL,
    auth_mode text NOT NULL CHECK (auth_mode IN ('none', 'api_key', 'oauth')),
    code_mode_enabled boolean NOT NULL,
    code_mode_timeout_ms bigint NOT NULL,
    code_mode_allow_fetch boolean NOT NULL,
    tool_exposure text NOT NULL CHECK (tool_exposure IN ('full', 'builtin')),
    tool_name_limit bigint NOT NULL,
    disabled_tools text NOT NULL,
    rate_per_second double precision NOT NULL,
    rate_burst bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE servers (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    alias text NOT NULL,
    alias_fold text NOT NULL,
    url text NOT NULL,
    transport text NOT NULL CHECK (transport IN ('auto', 'streamable-http', 'sse')),
    auth_type text NOT NULL CHECK (auth_type IN ('none', 'bearer', 'oauth')),
    auth_bearer text NOT NULL,
    headers text NOT NULL,
    allowed_tools text NOT NULL,
    deny_tools text NOT NULL,
    enabled boolean NOT NULL,
    timeout_ms bigint NOT NULL,
    session_mode text NOT NULL CHECK (session_mode IN ('shared', 'per-client')),
    definition_policy text NOT NULL CHECK (definition_policy IN ('follow', 'approve')),
    o_auth_client_id text NOT NULL,
    o_auth_client_secret text NOT NULL,
    o_auth_scopes text NOT NULL,
    config_version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (project_id, alias_fold)
);

CREATE TABLE inventories (
    server_id text PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    synced_at timestamptz,
    attempted_at timestamptz NOT NULL,
    error_code text NOT NULL,
    error_message text NOT NULL,
    warnings text NOT NULL,
    protocol_version text NOT NULL,
    transport_used text NOT NULL,
    server_info text NOT NULL,
    capabilities text NOT NULL,
    instructions text NOT NULL
);

CREATE TABLE tools (
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    name text NOT NULL,
    position bigint NOT NULL,
    definition text NOT NULL,
    definition_hash text NOT NULL,
    approved_hash text NOT NULL,
    first_seen_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (server_id, name)
);

CREATE TABLE keys (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    prefix text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX keys_project ON keys (project_id);

CREATE TABLE revisions (
    topic text PRIMARY KEY,
    revision bigint NOT NULL
);

-- +goose Down
DROP TABLE revisions;
DROP TABLE keys;
DROP TABLE tools;
DROP TABLE inventories;
DROP TABLE servers;
DROP TABLE projects;
