-- +goose Up
ALTER TABLE keys ADD COLUMN lifetime_ms bigint NOT NULL DEFAULT 0;
UPDATE keys SET lifetime_ms = CAST(round(extract(epoch FROM (expires_at - created_at)) * 1000) AS bigint) WHERE expires_at IS NOT NULL;

-- +goose Down
ALTER TABLE keys DROP COLUMN lifetime_ms;
