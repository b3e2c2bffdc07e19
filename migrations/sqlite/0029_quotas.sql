-- +goose Up
-- Limits of a project on calls per key, user, toolset, tool or project, as a
-- JSON array, and the calls counted against them on each day (UTC). Rows of a
-- deleted project remain until they are swept.
ALTER TABLE projects ADD COLUMN limits text NOT NULL DEFAULT '[]';
CREATE TABLE quota_use (
    project_id text NOT NULL,
    subject text NOT NULL,
    day text NOT NULL,
    used integer NOT NULL,
    PRIMARY KEY (project_id, subject, day)
);
CREATE INDEX idx_quota_use_day ON quota_use (day);

-- +goose Down
DROP TABLE quota_use;
ALTER TABLE projects DROP COLUMN limits;
