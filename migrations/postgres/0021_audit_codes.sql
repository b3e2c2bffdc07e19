-- +goose Up
ALTER TABLE audit_entries ADD COLUMN key_id text NOT NULL DEFAULT '';
ALTER TABLE audit_entries ADD COLUMN mac bytea NOT NULL DEFAULT '';
ALTER TABLE audit_heads ADD COLUMN key_id text NOT NULL DEFAULT '';
ALTER TABLE audit_heads ADD COLUMN mac bytea NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE audit_heads DROP COLUMN mac;
ALTER TABLE audit_heads DROP COLUMN key_id;
ALTER TABLE audit_entries DROP COLUMN mac;
ALTER TABLE audit_entries DROP COLUMN key_id;
