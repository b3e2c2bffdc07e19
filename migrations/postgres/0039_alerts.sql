-- +goose Up
-- Rules that differ from the built-in ones. thresholds is a JSON object of numbers.
CREATE TABLE alert_rules (
    id text PRIMARY KEY,
    enabled boolean NOT NULL,
    thresholds text NOT NULL,
    updated_at timestamptz NOT NULL
);

-- An object has at most one alert of a rule that is not resolved.
CREATE TABLE alerts (
    id text PRIMARY KEY,
    rule text NOT NULL,
    subject text NOT NULL,
    project text NOT NULL,
    object text NOT NULL,
    detail text NOT NULL,
    state text NOT NULL,
    since timestamptz NOT NULL,
    fired_at timestamptz,
    clear_since timestamptz,
    resolved_at timestamptz,
    mailed text NOT NULL
);
CREATE UNIQUE INDEX alerts_open ON alerts (rule, subject) WHERE state <> 'resolved';
CREATE INDEX alerts_resolved ON alerts (resolved_at);

-- +goose Down
DROP TABLE alerts;
DROP TABLE alert_rules;
