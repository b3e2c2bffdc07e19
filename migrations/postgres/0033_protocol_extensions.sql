-- +goose Up
-- Protocol extensions: the identity of endpoints, addresses of resources, tasks,
-- results of streams that clients resume.
ALTER TABLE projects ADD COLUMN tool_names text NOT NULL DEFAULT 'prefixed';
ALTER TABLE projects ADD COLUMN validate_arguments boolean NOT NULL DEFAULT false;
ALTER TABLE projects ADD COLUMN instructions text NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN icon text NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN website_url text NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN server_card boolean NOT NULL DEFAULT false;
ALTER TABLE servers ADD COLUMN protocol_version text NOT NULL DEFAULT 'auto';
ALTER TABLE servers ADD COLUMN task_timeout_ms bigint NOT NULL DEFAULT 600000;

ALTER TABLE listings DROP CONSTRAINT listings_kind_check;
ALTER TABLE listings ADD CONSTRAINT listings_kind_check CHECK (kind IN ('prompt', 'resource', 'template', 'skill'));

-- The revision that calls of some clients use at a server, as found by a failed
-- call. Edits of the server delete it.
CREATE TABLE learned_revisions (
    server_id text PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    revision text NOT NULL,
    reason text NOT NULL,
    since timestamptz NOT NULL
);

-- Which server of a project, by alias, is read for a URI, a template or a
-- prefix. Rows outlive the server.
CREATE TABLE address_claims (
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    alias text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('uri', 'template', 'prefix')),
    text_hash bytea NOT NULL,
    text text NOT NULL,
    position bigint NOT NULL,
    shown_at timestamptz NOT NULL,
    PRIMARY KEY (project_id, alias, kind, text_hash)
);

CREATE TABLE upstream_tasks (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    principal text NOT NULL,
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    tool text NOT NULL,
    state text NOT NULL,
    open boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX upstream_tasks_principal ON upstream_tasks (project_id, principal);
CREATE INDEX upstream_tasks_server ON upstream_tasks (server_id);
CREATE INDEX upstream_tasks_expiry ON upstream_tasks (expires_at);

CREATE TABLE finished_results (
    id text PRIMARY KEY,
    session text NOT NULL,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    result text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX finished_results_project ON finished_results (project_id, created_at);
CREATE INDEX finished_results_session ON finished_results (session);
CREATE INDEX finished_results_expiry ON finished_results (expires_at);

-- +goose Down
DROP TABLE finished_results;
DROP TABLE upstream_tasks;
DROP TABLE address_claims;
DROP TABLE learned_revisions;
ALTER TABLE servers DROP COLUMN task_timeout_ms;
ALTER TABLE servers DROP COLUMN protocol_version;
ALTER TABLE projects DROP COLUMN server_card;
ALTER TABLE projects DROP COLUMN website_url;
ALTER TABLE projects DROP COLUMN icon;
ALTER TABLE projects DROP COLUMN instructions;
ALTER TABLE projects DROP COLUMN validate_arguments;
ALTER TABLE projects DROP COLUMN tool_names;
DELETE FROM listings WHERE kind = 'skill';
ALTER TABLE listings DROP CONSTRAINT listings_kind_check;
ALTER TABLE listings ADD CONSTRAINT listings_kind_check CHECK (kind IN ('prompt', 'resource', 'template'));
