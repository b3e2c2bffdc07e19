-- +goose Up
-- The availability of servers over the last days, for their pages. A row is an
-- observation; rows repeat while a state lasts, so that gaps are visible.
CREATE TABLE server_states (
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    at timestamptz NOT NULL,
    state text NOT NULL CHECK (state IN ('up', 'down', 'unset')),
    cause text NOT NULL,
    PRIMARY KEY (server_id, at)
);
CREATE INDEX server_states_at ON server_states (at);

-- The cause of the last failed sync, as in server_states; empty for older rows.
ALTER TABLE inventories ADD COLUMN error_reason text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE inventories DROP COLUMN error_reason;
DROP TABLE server_states;
