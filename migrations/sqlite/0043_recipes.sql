-- +goose Up
-- Recipes: saved code that is a tool of its project, its versions, and the
-- proposals that wait for an approval.
CREATE TABLE recipes (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    input_schema text NOT NULL,
    code text NOT NULL,
    effect text NOT NULL,
    tools text NOT NULL DEFAULT '[]',
    version integer NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL,
    UNIQUE (project_id, name)
);

CREATE TABLE recipe_versions (
    recipe_id text NOT NULL REFERENCES recipes (id) ON DELETE CASCADE,
    version integer NOT NULL,
    description text NOT NULL,
    input_schema text NOT NULL,
    code text NOT NULL,
    effect text NOT NULL,
    tools text NOT NULL DEFAULT '[]',
    saved_by text NOT NULL DEFAULT '',
    saved_at datetime NOT NULL,
    PRIMARY KEY (recipe_id, version)
);

CREATE TABLE recipe_proposals (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text NOT NULL,
    description text NOT NULL,
    input_schema text NOT NULL,
    code text NOT NULL,
    effect text NOT NULL,
    tools text NOT NULL DEFAULT '[]',
    principal text NOT NULL,
    run_id text NOT NULL DEFAULT '',
    created_at datetime NOT NULL
);
CREATE INDEX recipe_proposals_project ON recipe_proposals (project_id, created_at);

ALTER TABLE code_runs ADD COLUMN recipe text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE code_runs DROP COLUMN recipe;
DROP TABLE recipe_proposals;
DROP TABLE recipe_versions;
DROP TABLE recipes;
