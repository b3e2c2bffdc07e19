-- +goose Up
-- Servers that everyone uses with their own account, and the connections of
-- users to them.
ALTER TABLE servers ADD COLUMN connection text NOT NULL DEFAULT 'shared';
ALTER TABLE servers ADD COLUMN personal_headers text NOT NULL DEFAULT '[]';
-- The user whose connection reads the inventory, or empty.
ALTER TABLE servers ADD COLUMN inventory_user_id text NOT NULL DEFAULT '';

CREATE TABLE personal_connections (
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('oauth', 'token')),
    headers text NOT NULL,
    inventory_ok boolean NOT NULL,
    used_at datetime,
    state text NOT NULL,
    reason text NOT NULL,
    server_url text NOT NULL,
    issuer text NOT NULL,
    resource text NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text NOT NULL,
    registration_kind text NOT NULL,
    registration_id text NOT NULL,
    client_id text NOT NULL,
    auth_method text NOT NULL,
    choice_reasons text NOT NULL,
    scopes text NOT NULL,
    scopes_needed text NOT NULL,
    access_token text NOT NULL,
    refresh_token text NOT NULL,
    issued_at datetime,
    expires_at datetime,
    refresh_at datetime,
    forced_at datetime,
    failures integer NOT NULL,
    next_attempt_at datetime,
    error_code text NOT NULL,
    error_text text NOT NULL,
    error_at datetime,
    connected_at datetime,
    connected_by text NOT NULL,
    refreshed_at datetime,
    version integer NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL,
    PRIMARY KEY (server_id, user_id)
);
CREATE INDEX personal_connections_user ON personal_connections (user_id);
CREATE INDEX personal_connections_refresh ON personal_connections (refresh_at);

-- The user whose connection the flow creates; empty for the shared connection.
ALTER TABLE connection_flows ADD COLUMN user_id text NOT NULL DEFAULT '';
ALTER TABLE connection_flows ADD COLUMN inventory_ok boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE connection_flows DROP COLUMN inventory_ok;
ALTER TABLE connection_flows DROP COLUMN user_id;
DROP TABLE personal_connections;
ALTER TABLE servers DROP COLUMN inventory_user_id;
ALTER TABLE servers DROP COLUMN personal_headers;
ALTER TABLE servers DROP COLUMN connection;
