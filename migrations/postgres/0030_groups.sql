-- +goose Up
-- Groups of users and their members. Members by a claim are those that the
-- identity provider named at their last sign-in.
CREATE TABLE groups (
    id text PRIMARY KEY,
    name text NOT NULL,
    name_fold text NOT NULL UNIQUE,
    claim text NOT NULL,
    role text NOT NULL CHECK (role IN ('', 'member', 'viewer', 'admin')),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE UNIQUE INDEX groups_claim ON groups (claim) WHERE claim <> '';

CREATE TABLE group_members (
    group_id text NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    via text NOT NULL CHECK (via IN ('local', 'claim')),
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (group_id, user_id, via)
);

CREATE INDEX group_members_user ON group_members (user_id);

-- Whether the provider left the groups out at the last sign-in.
ALTER TABLE users ADD COLUMN groups_overage boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE users DROP COLUMN groups_overage;
DROP TABLE group_members;
DROP TABLE groups;
