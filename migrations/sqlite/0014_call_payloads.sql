-- +goose Up
ALTER TABLE projects ADD COLUMN record_payloads boolean NOT NULL DEFAULT false;
CREATE TABLE call_payloads (
    call_id text PRIMARY KEY,
    project_id text NOT NULL,
    at datetime NOT NULL,
    arguments text NOT NULL,
    arguments_cut boolean NOT NULL,
    answer text NOT NULL,
    answer_cut boolean NOT NULL
);
CREATE INDEX call_payloads_age ON call_payloads (at);
CREATE INDEX call_payloads_project ON call_payloads (project_id);

-- +goose Down
DROP TABLE call_payloads;
ALTER TABLE projects DROP COLUMN record_payloads;
