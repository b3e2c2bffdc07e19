-- +goose Up
-- The ids of calls grow with time, and what looks for a moment goes by them.
-- This index was paid for with every call, for a sweep every ten minutes.
DROP INDEX calls_age;

-- +goose Down
CREATE INDEX calls_age ON calls (at);
