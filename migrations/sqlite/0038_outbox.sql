-- +goose Up
-- Events that wait for their delivery, in the order of their commits.
CREATE TABLE outbox (
    seq integer PRIMARY KEY AUTOINCREMENT,
    id text NOT NULL,
    kind text NOT NULL,
    project text NOT NULL,
    at datetime NOT NULL,
    audit boolean NOT NULL,
    body text NOT NULL
);

-- Last reported states, so that all replicas report each change once.
CREATE TABLE outbox_states (
    subject text PRIMARY KEY,
    state text NOT NULL,
    at datetime NOT NULL
);

CREATE TABLE destinations (
    id text PRIMARY KEY,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('webhook', 'slack', 'otlp', 'file')),
    address text NOT NULL,
    secret text NOT NULL,
    former_secret text NOT NULL,
    former_until datetime,
    filter text NOT NULL,
    active boolean NOT NULL,
    position integer NOT NULL,
    delivered integer NOT NULL,
    failures integer NOT NULL,
    failing_since datetime,
    next_at datetime,
    last_at datetime,
    last_status integer NOT NULL,
    last_reply text NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL
);
CREATE UNIQUE INDEX destinations_name ON destinations (lower(name));

CREATE TABLE dead_letters (
    id text PRIMARY KEY,
    destination_id text NOT NULL REFERENCES destinations (id) ON DELETE CASCADE,
    seq integer NOT NULL,
    event_id text NOT NULL,
    kind text NOT NULL,
    project text NOT NULL,
    at datetime NOT NULL,
    audit boolean NOT NULL,
    body text NOT NULL,
    died_at datetime NOT NULL,
    reason text NOT NULL,
    again_at datetime
);
CREATE INDEX dead_letters_destination ON dead_letters (destination_id, seq);
CREATE INDEX dead_letters_died ON dead_letters (died_at);

-- +goose Down
DROP TABLE dead_letters;
DROP TABLE destinations;
DROP TABLE outbox_states;
DROP TABLE outbox;
