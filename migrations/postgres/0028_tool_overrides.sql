-- +goose Up
-- What administrators changed about the tools of a server, by the server's own
-- names.
ALTER TABLE servers ADD COLUMN tool_overrides text NOT NULL DEFAULT '{}';
-- The effect of a tool that toolsets go by. It is empty until the first sync
-- that records it.
ALTER TABLE tools ADD COLUMN confirmed_access text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tools DROP COLUMN confirmed_access;
ALTER TABLE servers DROP COLUMN tool_overrides;
