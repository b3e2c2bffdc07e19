-- +goose Up
-- Links also reset passwords. Releases without resets ignore those links, because
-- their users have joined.
ALTER TABLE invites ADD COLUMN purpose text NOT NULL DEFAULT 'join';

-- +goose Down
DELETE FROM invites WHERE purpose <> 'join';
ALTER TABLE invites DROP COLUMN purpose;
