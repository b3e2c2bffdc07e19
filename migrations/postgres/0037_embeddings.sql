-- +goose Up
-- Vectors of the texts of tools, for search by meaning.
CREATE TABLE embeddings (
    text_hash text NOT NULL,
    model text NOT NULL,
    created_at timestamptz NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (text_hash, model)
);

-- +goose Down
DROP TABLE embeddings;
