-- +goose Up
ALTER TABLE tools ADD COLUMN previous_definition text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tools DROP COLUMN previous_definition;
