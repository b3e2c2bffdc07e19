-- +goose Up
-- Named subsets of a project's tools, each with its own endpoints.
CREATE TABLE toolsets (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    slug text NOT NULL,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    query text NOT NULL DEFAULT '',
    include text NOT NULL DEFAULT '[]',
    exclude text NOT NULL DEFAULT '[]',
    offers_of text NOT NULL DEFAULT '[]',
    tool_exposure text NOT NULL DEFAULT '',
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL,
    UNIQUE (project_id, slug)
);

-- What people and groups may use. An empty toolset_id is the whole project.
CREATE TABLE project_grants (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    subject_kind text NOT NULL,
    subject_id text NOT NULL,
    toolset_id text NOT NULL DEFAULT '',
    role text NOT NULL,
    created_at datetime NOT NULL,
    created_by text NOT NULL DEFAULT '',
    UNIQUE (project_id, subject_kind, subject_id, toolset_id, role)
);
CREATE INDEX project_grants_subject ON project_grants (subject_kind, subject_id);

-- user_id is the owner of a personal key. scope is project or toolsets.
ALTER TABLE keys ADD COLUMN user_id text NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN scope text NOT NULL DEFAULT 'project';
CREATE INDEX keys_user ON keys (user_id) WHERE user_id <> '';
CREATE TABLE key_toolsets (
    key_id text NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
    toolset_id text NOT NULL REFERENCES toolsets (id) ON DELETE CASCADE,
    PRIMARY KEY (key_id, toolset_id)
);

ALTER TABLE oauth_codes ADD COLUMN toolset_id text NOT NULL DEFAULT '';
ALTER TABLE oauth_grants ADD COLUMN toolset_id text NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN toolset text NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN user_id text NOT NULL DEFAULT '';

ALTER TABLE projects ADD COLUMN personal_keys_enabled boolean NOT NULL DEFAULT FALSE;
ALTER TABLE projects ADD COLUMN personal_keys_max_days integer NOT NULL DEFAULT 365;
ALTER TABLE projects ADD COLUMN secret_refs text NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE projects DROP COLUMN secret_refs;
ALTER TABLE projects DROP COLUMN personal_keys_max_days;
ALTER TABLE projects DROP COLUMN personal_keys_enabled;
ALTER TABLE calls DROP COLUMN user_id;
ALTER TABLE calls DROP COLUMN toolset;
ALTER TABLE oauth_grants DROP COLUMN toolset_id;
ALTER TABLE oauth_codes DROP COLUMN toolset_id;
DROP TABLE key_toolsets;
DROP INDEX keys_user;
ALTER TABLE keys DROP COLUMN scope;
ALTER TABLE keys DROP COLUMN user_id;
DROP TABLE project_grants;
DROP TABLE toolsets;
