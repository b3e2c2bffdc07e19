-- +goose Up
-- Further credentials of upstream servers: OAuth client credentials, headers of
-- forwarded headers of callers, and TLS. Keys are sealed or references.
ALTER TABLE servers ADD COLUMN o_auth_grant text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN o_auth_client_auth text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN o_auth_private_key text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN o_auth_key_id text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN o_auth_token_url text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN o_auth_audience text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN tls_authority text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN tls_cert text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN tls_key text NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN forward_headers text NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE servers DROP COLUMN forward_headers;
ALTER TABLE servers DROP COLUMN tls_key;
ALTER TABLE servers DROP COLUMN tls_cert;
ALTER TABLE servers DROP COLUMN tls_authority;
ALTER TABLE servers DROP COLUMN o_auth_audience;
ALTER TABLE servers DROP COLUMN o_auth_token_url;
ALTER TABLE servers DROP COLUMN o_auth_key_id;
ALTER TABLE servers DROP COLUMN o_auth_private_key;
ALTER TABLE servers DROP COLUMN o_auth_client_auth;
ALTER TABLE servers DROP COLUMN o_auth_grant;
