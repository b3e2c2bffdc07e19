-- +goose Up
-- Local servers: programs that runners start. No table contains a command.
ALTER TABLE servers ADD COLUMN source text NOT NULL DEFAULT '' CHECK (source IN ('', 'local', 'config', 'connector'));
ALTER TABLE servers ADD COLUMN entry text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN connector_id text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN undeclared boolean NOT NULL DEFAULT false;
ALTER TABLE servers ADD COLUMN listed_hash text NOT NULL DEFAULT '';

-- How to run the servers of the catalog.
ALTER TABLE catalog_entries ADD COLUMN packages text NOT NULL DEFAULT '[]';
ALTER TABLE catalog_entries ADD COLUMN variables text NOT NULL DEFAULT '[]';

-- Runners on other computers, which connect with a token.
CREATE TABLE connectors (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    prefix text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    last_seen_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX connectors_project ON connectors (project_id);

-- Processes of the gateway that serve, by their heartbeat.
CREATE TABLE replicas (
    id text PRIMARY KEY,
    seen_at timestamptz NOT NULL
);

-- Which replica's runner declares a server in its file.
CREATE TABLE declarations (
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    replica_id text NOT NULL REFERENCES replicas (id) ON DELETE CASCADE,
    hash text NOT NULL,
    PRIMARY KEY (server_id, replica_id)
);
CREATE INDEX declarations_replica ON declarations (replica_id);

-- +goose Down
DROP TABLE declarations;
DROP TABLE replicas;
DROP TABLE connectors;
ALTER TABLE catalog_entries DROP COLUMN variables;
ALTER TABLE catalog_entries DROP COLUMN packages;
ALTER TABLE servers DROP COLUMN listed_hash;
ALTER TABLE servers DROP COLUMN undeclared;
ALTER TABLE servers DROP COLUMN connector_id;
ALTER TABLE servers DROP COLUMN entry;
ALTER TABLE servers DROP COLUMN source;
