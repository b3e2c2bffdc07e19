-- +goose Up
ALTER TABLE keys ADD COLUMN lifetime_ms integer NOT NULL DEFAULT 0;
-- Times are texts in UTC with milliseconds.
UPDATE keys SET lifetime_ms = CAST(round((julianday(expires_at) - julianday(created_at)) * 86400000) AS integer) WHERE expires_at IS NOT NULL;

-- +goose Down
ALTER TABLE keys DROP COLUMN lifetime_ms;
