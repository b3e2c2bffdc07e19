-- +goose Up
ALTER TABLE servers ADD COLUMN url_secrets text NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE servers DROP COLUMN url_secrets;
