-- +goose Up
CREATE TABLE connections (
    server_id text PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
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
    updated_at datetime NOT NULL
);
CREATE INDEX connections_refresh ON connections (refresh_at);

CREATE TABLE connection_registrations (
    id text PRIMARY KEY,
    issuer text NOT NULL,
    redirect_uri text NOT NULL,
    client_id text NOT NULL,
    client_secret text NOT NULL,
    auth_method text NOT NULL,
    secret_expires_at datetime,
    retired_at datetime,
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX connection_registrations_held ON connection_registrations (issuer, redirect_uri) WHERE retired_at IS NULL;

CREATE TABLE connection_flows (
    state_hash blob PRIMARY KEY,
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    session_id text NOT NULL,
    server_url text NOT NULL,
    issuer text NOT NULL,
    issuer_required boolean NOT NULL,
    resource text NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text NOT NULL,
    redirect_uri text NOT NULL,
    scopes text NOT NULL,
    verifier text NOT NULL,
    registration_kind text NOT NULL,
    registration_id text NOT NULL,
    client_id text NOT NULL,
    auth_method text NOT NULL,
    choice_reasons text NOT NULL,
    repeated boolean NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    consumed_at datetime
);
CREATE INDEX connection_flows_server ON connection_flows (server_id);
CREATE INDEX connection_flows_expiry ON connection_flows (expires_at);

CREATE TABLE connection_leases (
    server_id text PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    owner text NOT NULL,
    until datetime NOT NULL
);

-- +goose Down
DROP TABLE connection_leases;
DROP TABLE connection_flows;
DROP TABLE connection_registrations;
DROP TABLE connections;
