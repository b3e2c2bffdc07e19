-- +goose Up
-- A step-up confirmation is extended by use, and a form survives the rotation
-- of the cookie. Both columns are empty for older sessions.
ALTER TABLE browser_sessions ADD COLUMN confirmed_at timestamptz;
ALTER TABLE browser_sessions ADD COLUMN csrf text NOT NULL DEFAULT '';

CREATE TABLE kept_forms (
    hash bytea PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    session_id text NOT NULL,
    expires_at timestamptz NOT NULL,
    sealed text NOT NULL
);
CREATE INDEX kept_forms_user ON kept_forms (user_id, expires_at);

-- +goose Down
DROP TABLE kept_forms;
ALTER TABLE browser_sessions DROP COLUMN csrf;
ALTER TABLE browser_sessions DROP COLUMN confirmed_at;
