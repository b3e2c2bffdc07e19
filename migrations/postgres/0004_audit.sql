-- +goose Up
CREATE TABLE audit_entries (
    seq bigint PRIMARY KEY,
    at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    ip text NOT NULL,
    request_id text NOT NULL,
    action text NOT NULL,
    object text NOT NULL,
    object_id text NOT NULL,
    project text NOT NULL,
    detail text NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL
);
CREATE INDEX audit_entries_action ON audit_entries (action, seq);
CREATE INDEX audit_entries_project ON audit_entries (project, seq);
CREATE TABLE audit_heads (
    id bigint PRIMARY KEY,
    seq bigint NOT NULL,
    hash bytea NOT NULL
);
INSERT INTO audit_heads (id, seq, hash) VALUES (1, 0, '\x');

-- +goose Down
DROP TABLE audit_heads;
DROP TABLE audit_entries;
