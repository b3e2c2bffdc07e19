-- +goose Up
ALTER TABLE servers ADD COLUMN max_concurrent bigint NOT NULL DEFAULT 512;

-- +goose Down
ALTER TABLE servers DROP COLUMN max_concurrent;
