-- +goose Up
-- The calls of each day (UTC) by tool and caller. Rows of a deleted project
-- remain until they are swept.
CREATE TABLE usage_days (
    project_id text NOT NULL,
    day text NOT NULL,
    server text NOT NULL,
    tool text NOT NULL,
    principal text NOT NULL,
    toolset text NOT NULL,
    user_id text NOT NULL,
    calls integer NOT NULL,
    failed integer NOT NULL,
    request_bytes integer NOT NULL,
    response_bytes integer NOT NULL,
    PRIMARY KEY (project_id, day, server, tool, principal, toolset)
);
CREATE INDEX idx_usage_days_day ON usage_days (day);
INSERT INTO usage_days (project_id, day, server, tool, principal, toolset, user_id, calls, failed, request_bytes, response_bytes)
SELECT project_id, substr(at, 1, 10) AS day, server, CASE WHEN server = '' AND outcome IN ('error', 'cancelled') THEN '' ELSE tool END AS counted, principal, toolset,
    MAX(CASE WHEN user_id = '' AND substr(principal, 1, 5) = 'user:' THEN substr(principal, 6) ELSE user_id END),
    COUNT(*), SUM(CASE WHEN outcome IN ('error', 'tool_error') THEN 1 ELSE 0 END), SUM(request_bytes), SUM(response_bytes)
FROM calls GROUP BY 1, 2, 3, 4, 5, 6;

-- The newest requests to the endpoints of each project that were refused.
CREATE TABLE refused_requests (
    id text PRIMARY KEY,
    at datetime NOT NULL,
    project_id text NOT NULL,
    method text NOT NULL,
    endpoint text NOT NULL,
    status integer NOT NULL,
    code text NOT NULL,
    reason text NOT NULL,
    client text NOT NULL,
    address text NOT NULL,
    request_id text NOT NULL
);
CREATE INDEX idx_refused_requests_project ON refused_requests (project_id, id);
CREATE INDEX idx_refused_requests_at ON refused_requests (at);

-- +goose Down
DROP TABLE refused_requests;
DROP TABLE usage_days;
