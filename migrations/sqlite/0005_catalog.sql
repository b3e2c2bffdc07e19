-- +goose Up
CREATE TABLE catalog_sources (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('official', 'file')),
    name text NOT NULL,
    url text NOT NULL,
    enabled boolean NOT NULL,
    content_hash text NOT NULL,
    high_water datetime,
    started_at datetime,
    finished_at datetime,
    succeeded boolean NOT NULL,
    error_code text NOT NULL,
    error_message text NOT NULL,
    fetched integer NOT NULL,
    added integer NOT NULL,
    updated integer NOT NULL,
    deleted integer NOT NULL,
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX catalog_sources_url ON catalog_sources (url) WHERE url <> '';
CREATE TABLE catalog_entries (
    id text PRIMARY KEY,
    source_id text NOT NULL REFERENCES catalog_sources (id) ON DELETE CASCADE,
    version text NOT NULL,
    publisher_name text NOT NULL,
    publisher_title text NOT NULL,
    server_name text NOT NULL,
    server_title text NOT NULL,
    server_type text NOT NULL CHECK (server_type IN ('http', 'sse', 'stdio')),
    tags text NOT NULL,
    verified boolean NOT NULL,
    verified_evidence text NOT NULL,
    verified_by text NOT NULL,
    featured boolean NOT NULL,
    featured_by text NOT NULL,
    icon_url text NOT NULL,
    repo_url text NOT NULL,
    docs_url text NOT NULL,
    website_url text NOT NULL,
    description text NOT NULL,
    remote_url text NOT NULL,
    alt_remote_url text NOT NULL,
    auth_type text NOT NULL CHECK (auth_type IN ('none', 'bearer', 'header', 'oauth', 'unknown')),
    auth_header text NOT NULL,
    dynamic_registration boolean,
    package_type text NOT NULL,
    package_identifier text NOT NULL,
    secret_env text NOT NULL,
    tool_names text NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
    hidden boolean NOT NULL,
    locked boolean NOT NULL,
    content_hash text NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL,
    document text NOT NULL
);
CREATE UNIQUE INDEX catalog_entries_name ON catalog_entries (publisher_name, server_name);
CREATE INDEX catalog_entries_source ON catalog_entries (source_id);
CREATE TABLE catalog_templates (
    id text PRIMARY KEY,
    source_id text NOT NULL REFERENCES catalog_sources (id) ON DELETE CASCADE,
    slug text NOT NULL UNIQUE,
    title text NOT NULL,
    description text NOT NULL,
    role text NOT NULL,
    category text NOT NULL,
    difficulty text NOT NULL CHECK (difficulty IN ('beginner', 'intermediate', 'advanced')),
    estimated_setup_minutes integer NOT NULL,
    tags text NOT NULL,
    related_server_names text NOT NULL,
    steps text NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
    hidden boolean NOT NULL,
    locked boolean NOT NULL,
    content_hash text NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL
);
CREATE INDEX catalog_templates_source ON catalog_templates (source_id);
INSERT INTO catalog_sources (id, kind, name, url, enabled, content_hash, succeeded, error_code, error_message, fetched, added, updated, deleted, created_at) VALUES
    ('default', 'file', 'Built-in', '', TRUE, '', FALSE, '', '', 0, 0, 0, 0, '2026-01-01 00:00:00.000'),
    ('file', 'file', 'Files', '', TRUE, '', FALSE, '', '', 0, 0, 0, 0, '2026-01-01 00:00:00.000');

-- +goose Down
DROP TABLE catalog_templates;
DROP TABLE catalog_entries;
DROP TABLE catalog_sources;
