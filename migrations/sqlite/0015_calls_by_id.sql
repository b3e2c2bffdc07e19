-- +goose Up
-- Call ids sort by time, so queries by time use them. This index was updated by
-- every call but used only by a sweep every 10 minutes.
DROP INDEX calls_age;

-- +goose Down
CREATE INDEX calls_age ON calls (at);
