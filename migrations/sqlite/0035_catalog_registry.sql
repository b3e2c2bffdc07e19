-- +goose Up
-- Facts of catalog rows that a source proves.
ALTER TABLE catalog_entries ADD COLUMN featured_rank integer NOT NULL DEFAULT 0;
ALTER TABLE catalog_entries ADD COLUMN package_source text NOT NULL DEFAULT '';
ALTER TABLE catalog_entries ADD COLUMN license text NOT NULL DEFAULT '';
ALTER TABLE catalog_entries ADD COLUMN last_release_at datetime;
ALTER TABLE catalog_entries ADD COLUMN read_tools text NOT NULL DEFAULT '[]';
ALTER TABLE catalog_entries ADD COLUMN write_tools text NOT NULL DEFAULT '[]';

-- Scheduled syncs, which wait for an approval before they remove many rows.
ALTER TABLE catalog_sources ADD COLUMN schedule text NOT NULL DEFAULT 'off' CHECK (schedule IN ('off', 'hourly', 'daily', 'weekly'));
ALTER TABLE catalog_sources ADD COLUMN etag text NOT NULL DEFAULT '';
ALTER TABLE catalog_sources ADD COLUMN held_removals integer NOT NULL DEFAULT 0;
ALTER TABLE catalog_sources ADD COLUMN held_at datetime;

-- Icons of catalog rows, as small images that the gateway serves.
CREATE TABLE catalog_icons (
    url_hash text PRIMARY KEY,
    url text NOT NULL,
    hash text NOT NULL,
    tried_at datetime NOT NULL,
    error text NOT NULL,
    png blob NOT NULL
);
CREATE INDEX catalog_icons_hash ON catalog_icons (hash);

-- The last check of each remote server of the catalog.
CREATE TABLE catalog_checks (
    entry_id text PRIMARY KEY REFERENCES catalog_entries (id) ON DELETE CASCADE,
    checked_at datetime NOT NULL,
    state text NOT NULL CHECK (state IN ('reachable', 'sign_in', 'failed')),
    revision text NOT NULL,
    message text NOT NULL,
    failing_since datetime,
    tools text NOT NULL
);

-- What changed a row of the catalog, and how.
CREATE TABLE catalog_changes (
    id text PRIMARY KEY,
    entry_id text NOT NULL REFERENCES catalog_entries (id) ON DELETE CASCADE,
    at datetime NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    detail text NOT NULL
);
CREATE INDEX catalog_changes_entry ON catalog_changes (entry_id, id);

-- Registries for editors: selections of the catalog, each with its base URL.
CREATE TABLE catalog_views (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    title text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('query', 'list')),
    query text NOT NULL,
    gated boolean NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL
);
-- The approved rows of a list. Published projects are rows without an entry.
CREATE TABLE catalog_view_entries (
    view_id text NOT NULL REFERENCES catalog_views (id) ON DELETE CASCADE,
    entry_id text NOT NULL,
    added_at datetime NOT NULL,
    PRIMARY KEY (view_id, entry_id)
);

-- Keys of editors for gated views.
CREATE TABLE catalog_keys (
    id text PRIMARY KEY,
    name text NOT NULL,
    hash blob NOT NULL UNIQUE,
    prefix text NOT NULL,
    created_by text NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime,
    last_used_at datetime,
    revoked_at datetime
);

-- Access tokens of people's OAuth clients for gated views.
CREATE TABLE oauth_view_tokens (
    id text PRIMARY KEY,
    hash blob NOT NULL UNIQUE,
    client_id text NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    view_id text NOT NULL REFERENCES catalog_views (id) ON DELETE CASCADE,
    redirect_name text NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    last_used_at datetime,
    revoked_at datetime
);
CREATE INDEX oauth_view_tokens_client ON oauth_view_tokens (client_id);
CREATE INDEX oauth_view_tokens_user ON oauth_view_tokens (user_id);
CREATE INDEX oauth_view_tokens_view ON oauth_view_tokens (view_id);

ALTER TABLE projects ADD COLUMN published boolean NOT NULL DEFAULT false;

-- Requests of people for servers of the catalog.
CREATE TABLE catalog_requests (
    id text PRIMARY KEY,
    entry_id text NOT NULL,
    entry_name text NOT NULL,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id text NOT NULL,
    reason text NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'approved', 'refused')),
    answer text NOT NULL,
    decided_by text NOT NULL,
    decided_at datetime,
    created_at datetime NOT NULL
);
CREATE INDEX catalog_requests_state ON catalog_requests (state, created_at);
CREATE INDEX catalog_requests_user ON catalog_requests (user_id);

-- +goose Down
DROP TABLE catalog_requests;
ALTER TABLE projects DROP COLUMN published;
DROP TABLE oauth_view_tokens;
DROP TABLE catalog_keys;
DROP TABLE catalog_view_entries;
DROP TABLE catalog_views;
DROP TABLE catalog_changes;
DROP TABLE catalog_checks;
DROP TABLE catalog_icons;
ALTER TABLE catalog_sources DROP COLUMN held_at;
ALTER TABLE catalog_sources DROP COLUMN held_removals;
ALTER TABLE catalog_sources DROP COLUMN etag;
ALTER TABLE catalog_sources DROP COLUMN schedule;
ALTER TABLE catalog_entries DROP COLUMN write_tools;
ALTER TABLE catalog_entries DROP COLUMN read_tools;
ALTER TABLE catalog_entries DROP COLUMN last_release_at;
ALTER TABLE catalog_entries DROP COLUMN license;
ALTER TABLE catalog_entries DROP COLUMN package_source;
ALTER TABLE catalog_entries DROP COLUMN featured_rank;
