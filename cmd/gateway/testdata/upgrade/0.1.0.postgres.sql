--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: audit_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit_entries (
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
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
    hash bytea NOT NULL,
    key_id text DEFAULT ''::text NOT NULL,
    mac bytea DEFAULT '\x'::bytea NOT NULL
);


--
-- Name: audit_heads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit_heads (
    id bigint NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    key_id text DEFAULT ''::text NOT NULL,
    mac bytea DEFAULT '\x'::bytea NOT NULL
);


--
-- Name: browser_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.browser_sessions (
    hash bytea NOT NULL,
    id text NOT NULL,
    user_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    authenticated_at timestamp with time zone NOT NULL,
    ip text NOT NULL,
    user_agent text NOT NULL,
    revoked_at timestamp with time zone,
    confirmed_at timestamp with time zone,
    csrf text DEFAULT ''::text NOT NULL
);


--
-- Name: call_payloads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.call_payloads (
    call_id text NOT NULL,
    project_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    arguments text NOT NULL,
    arguments_cut boolean NOT NULL,
    answer text NOT NULL,
    answer_cut boolean NOT NULL
);


--
-- Name: calls; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.calls (
    id text NOT NULL,
    at timestamp with time zone NOT NULL,
    project_id text NOT NULL,
    principal text NOT NULL,
    tool text NOT NULL,
    server text NOT NULL,
    duration_us bigint NOT NULL,
    request_bytes bigint NOT NULL,
    response_bytes bigint NOT NULL,
    outcome text NOT NULL,
    code text NOT NULL,
    request_id text NOT NULL
);


--
-- Name: catalog_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.catalog_entries (
    id text NOT NULL,
    source_id text NOT NULL,
    version text NOT NULL,
    publisher_name text NOT NULL,
    publisher_title text NOT NULL,
    server_name text NOT NULL,
    server_title text NOT NULL,
    server_type text NOT NULL,
    tags text NOT NULL,
    verified boolean NOT NULL,
    verified_evidence text NOT NULL,
    verified_by text NOT NULL,
    featured boolean NOT NULL,
    featured_by text NOT NULL,
    icon_url text NOT NULL,
    repo_url text NOT NULL,
    docs_url text NOT NULL,
    website_url text NOT NULL,
    description text NOT NULL,
    remote_url text NOT NULL,
    alt_remote_url text NOT NULL,
    auth_type text NOT NULL,
    auth_header text NOT NULL,
    dynamic_registration boolean,
    package_type text NOT NULL,
    package_identifier text NOT NULL,
    secret_env text NOT NULL,
    tool_names text NOT NULL,
    status text NOT NULL,
    hidden boolean NOT NULL,
    locked boolean NOT NULL,
    content_hash text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    document text NOT NULL,
    CONSTRAINT catalog_entries_auth_type_check CHECK ((auth_type = ANY (ARRAY['none'::text, 'bearer'::text, 'header'::text, 'oauth'::text, 'unknown'::text]))),
    CONSTRAINT catalog_entries_server_type_check CHECK ((server_type = ANY (ARRAY['http'::text, 'sse'::text, 'stdio'::text]))),
    CONSTRAINT catalog_entries_status_check CHECK ((status = ANY (ARRAY['active'::text, 'deprecated'::text, 'deleted'::text])))
);


--
-- Name: catalog_sources; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.catalog_sources (
    id text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    url text NOT NULL,
    enabled boolean NOT NULL,
    content_hash text NOT NULL,
    high_water timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    succeeded boolean NOT NULL,
    error_code text NOT NULL,
    error_message text NOT NULL,
    fetched bigint NOT NULL,
    added bigint NOT NULL,
    updated bigint NOT NULL,
    deleted bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT catalog_sources_kind_check CHECK ((kind = ANY (ARRAY['official'::text, 'file'::text])))
);


--
-- Name: catalog_templates; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.catalog_templates (
    id text NOT NULL,
    source_id text NOT NULL,
    slug text NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    role text NOT NULL,
    category text NOT NULL,
    difficulty text NOT NULL,
    estimated_setup_minutes bigint NOT NULL,
    tags text NOT NULL,
    related_server_names text NOT NULL,
    steps text NOT NULL,
    status text NOT NULL,
    hidden boolean NOT NULL,
    locked boolean NOT NULL,
    content_hash text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT catalog_templates_difficulty_check CHECK ((difficulty = ANY (ARRAY['beginner'::text, 'intermediate'::text, 'advanced'::text]))),
    CONSTRAINT catalog_templates_status_check CHECK ((status = ANY (ARRAY['active'::text, 'deprecated'::text, 'deleted'::text])))
);


--
-- Name: code_runs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.code_runs (
    id text NOT NULL,
    project_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    principal text NOT NULL,
    code text NOT NULL,
    input text NOT NULL,
    input_cut boolean NOT NULL,
    outcome text NOT NULL,
    ok boolean NOT NULL,
    phase text NOT NULL,
    calls bigint NOT NULL,
    duration_ms bigint NOT NULL,
    timeout_ms bigint NOT NULL,
    dry_run boolean NOT NULL,
    seed_at timestamp with time zone NOT NULL,
    seed_random bigint NOT NULL
);


--
-- Name: connection_flows; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.connection_flows (
    state_hash bytea NOT NULL,
    server_id text NOT NULL,
    session_id text NOT NULL,
    server_url text NOT NULL,
    issuer text NOT NULL,
    issuer_required boolean NOT NULL,
    resource text NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text NOT NULL,
    redirect_uri text NOT NULL,
    scopes text NOT NULL,
    verifier text NOT NULL,
    registration_kind text NOT NULL,
    registration_id text NOT NULL,
    client_id text NOT NULL,
    auth_method text NOT NULL,
    choice_reasons text NOT NULL,
    repeated boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    consumed_at timestamp with time zone
);


--
-- Name: connection_leases; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.connection_leases (
    server_id text NOT NULL,
    owner text NOT NULL,
    until timestamp with time zone NOT NULL
);


--
-- Name: connection_registrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.connection_registrations (
    id text NOT NULL,
    issuer text NOT NULL,
    redirect_uri text NOT NULL,
    client_id text NOT NULL,
    client_secret text NOT NULL,
    auth_method text NOT NULL,
    secret_expires_at timestamp with time zone,
    retired_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL
);


--
-- Name: connections; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.connections (
    server_id text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    server_url text NOT NULL,
    issuer text NOT NULL,
    resource text NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text NOT NULL,
    registration_kind text NOT NULL,
    registration_id text NOT NULL,
    client_id text NOT NULL,
    auth_method text NOT NULL,
    choice_reasons text NOT NULL,
    scopes text NOT NULL,
    scopes_needed text NOT NULL,
    access_token text NOT NULL,
    refresh_token text NOT NULL,
    issued_at timestamp with time zone,
    expires_at timestamp with time zone,
    refresh_at timestamp with time zone,
    forced_at timestamp with time zone,
    failures bigint NOT NULL,
    next_attempt_at timestamp with time zone,
    error_code text NOT NULL,
    error_text text NOT NULL,
    error_at timestamp with time zone,
    connected_at timestamp with time zone,
    connected_by text NOT NULL,
    refreshed_at timestamp with time zone,
    version bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);


--
-- Name: ended_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ended_sessions (
    hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: goose_db_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.goose_db_version (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);


--
-- Name: goose_db_version_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.goose_db_version ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.goose_db_version_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: inventories; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.inventories (
    server_id text NOT NULL,
    synced_at timestamp with time zone,
    attempted_at timestamp with time zone NOT NULL,
    error_code text NOT NULL,
    error_message text NOT NULL,
    warnings text NOT NULL,
    protocol_version text NOT NULL,
    transport_used text NOT NULL,
    server_info text NOT NULL,
    capabilities text NOT NULL,
    instructions text NOT NULL
);


--
-- Name: inventory_changes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.inventory_changes (
    server_id text NOT NULL,
    project_id text NOT NULL,
    revision bigint NOT NULL
);


--
-- Name: kept_forms; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kept_forms (
    hash bytea NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    sealed text NOT NULL
);


--
-- Name: keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.keys (
    id text NOT NULL,
    project_id text NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    prefix text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    lifetime_ms bigint DEFAULT 0 NOT NULL
);


--
-- Name: listings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.listings (
    server_id text NOT NULL,
    kind text NOT NULL,
    ident text NOT NULL,
    "position" bigint NOT NULL,
    definition text NOT NULL,
    CONSTRAINT listings_kind_check CHECK ((kind = ANY (ARRAY['prompt'::text, 'resource'::text, 'template'::text])))
);


--
-- Name: login_limits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.login_limits (
    subject text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    attempts bigint NOT NULL
);


--
-- Name: oauth_clients; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.oauth_clients (
    id text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    redirect_uris text NOT NULL,
    auth_method text NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    fresh_until timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT oauth_clients_kind_check CHECK ((kind = ANY (ARRAY['dcr'::text, 'cimd'::text])))
);


--
-- Name: oauth_codes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.oauth_codes (
    hash bytea NOT NULL,
    grant_id text NOT NULL,
    client_id text NOT NULL,
    user_id text NOT NULL,
    project_id text NOT NULL,
    redirect_uri text NOT NULL,
    redirect_name text NOT NULL,
    challenge text NOT NULL,
    scopes text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);


--
-- Name: oauth_grants; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.oauth_grants (
    id text NOT NULL,
    client_id text NOT NULL,
    user_id text NOT NULL,
    project_id text NOT NULL,
    scopes text NOT NULL,
    redirect_name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone
);


--
-- Name: oauth_limits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.oauth_limits (
    subject text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    uses bigint NOT NULL
);


--
-- Name: oauth_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.oauth_tokens (
    hash bytea NOT NULL,
    kind text NOT NULL,
    grant_id text NOT NULL,
    scopes text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT oauth_tokens_kind_check CHECK ((kind = ANY (ARRAY['access'::text, 'refresh'::text])))
);


--
-- Name: project_members; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.project_members (
    project_id text NOT NULL,
    user_id text NOT NULL,
    created_at timestamp with time zone NOT NULL
);


--
-- Name: projects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.projects (
    id text NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    auth_mode text NOT NULL,
    code_mode_enabled boolean NOT NULL,
    code_mode_timeout_ms bigint NOT NULL,
    code_mode_allow_fetch boolean NOT NULL,
    tool_exposure text NOT NULL,
    tool_name_limit bigint NOT NULL,
    disabled_tools text NOT NULL,
    rate_per_second double precision NOT NULL,
    rate_burst bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    oauth_access text DEFAULT 'anyone'::text NOT NULL,
    record_payloads boolean DEFAULT false NOT NULL,
    CONSTRAINT projects_auth_mode_check CHECK ((auth_mode = ANY (ARRAY['none'::text, 'api_key'::text, 'oauth'::text]))),
    CONSTRAINT projects_oauth_access_check CHECK ((oauth_access = ANY (ARRAY['anyone'::text, 'members'::text]))),
    CONSTRAINT projects_tool_exposure_check CHECK ((tool_exposure = ANY (ARRAY['full'::text, 'builtin'::text])))
);


--
-- Name: revisions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.revisions (
    topic text NOT NULL,
    revision bigint NOT NULL
);


--
-- Name: servers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.servers (
    id text NOT NULL,
    project_id text NOT NULL,
    alias text NOT NULL,
    alias_fold text NOT NULL,
    url text NOT NULL,
    transport text NOT NULL,
    auth_type text NOT NULL,
    auth_bearer text NOT NULL,
    headers text NOT NULL,
    allowed_tools text NOT NULL,
    deny_tools text NOT NULL,
    enabled boolean NOT NULL,
    timeout_ms bigint NOT NULL,
    session_mode text NOT NULL,
    definition_policy text NOT NULL,
    o_auth_client_id text NOT NULL,
    o_auth_client_secret text NOT NULL,
    o_auth_scopes text NOT NULL,
    config_version bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    url_secrets text DEFAULT '[]'::text NOT NULL,
    max_concurrent bigint DEFAULT 512 NOT NULL,
    CONSTRAINT servers_auth_type_check CHECK ((auth_type = ANY (ARRAY['none'::text, 'bearer'::text, 'oauth'::text]))),
    CONSTRAINT servers_definition_policy_check CHECK ((definition_policy = ANY (ARRAY['follow'::text, 'approve'::text]))),
    CONSTRAINT servers_session_mode_check CHECK ((session_mode = ANY (ARRAY['shared'::text, 'per-client'::text]))),
    CONSTRAINT servers_transport_check CHECK ((transport = ANY (ARRAY['auto'::text, 'streamable-http'::text, 'sse'::text])))
);


--
-- Name: session_levels; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.session_levels (
    session text NOT NULL,
    level text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: session_resources; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.session_resources (
    session text NOT NULL,
    uri_hash bytea NOT NULL,
    uri text NOT NULL,
    project_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: setup_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.setup_tokens (
    hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: setups; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.setups (
    id bigint NOT NULL,
    user_id text NOT NULL,
    completed_at timestamp with time zone NOT NULL,
    CONSTRAINT setups_id_check CHECK ((id = 1))
);


--
-- Name: spent_sign_ins; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.spent_sign_ins (
    hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: tools; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tools (
    server_id text NOT NULL,
    name text NOT NULL,
    "position" bigint NOT NULL,
    definition text NOT NULL,
    definition_hash text NOT NULL,
    approved_hash text NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    previous_definition text DEFAULT ''::text NOT NULL
);


--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id text NOT NULL,
    email text NOT NULL,
    email_fold text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    password_hash text NOT NULL,
    oidc_issuer text NOT NULL,
    oidc_subject text NOT NULL,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    last_login_at timestamp with time zone,
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'viewer'::text, 'member'::text])))
);


--
-- Data for Name: audit_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.audit_entries VALUES (1, '2026-11-23 04:20:32.692+05:45', 'system', '', '', '', '', 'project.created', 'demo', '01a20566-7dd1-7ace-9426-887929d0e201', 'demo', '{}', '\x', '\x03faa08d0114bf005909542db4da726f4dce8fecf4c178d4095a753768ffeead', 'fixture', '\xb19741773129b26b8bc89d01ed95e3c14ff694c829f4e99cfb0ea78ace494a52');
INSERT INTO public.audit_entries VALUES (2, '2026-11-23 04:20:32.692+05:45', 'system', '', '', '', '', 'server.created', 'clock', '01a20566-7dd2-79c3-acdf-2c8c20531932', 'demo', '{}', '\x03faa08d0114bf005909542db4da726f4dce8fecf4c178d4095a753768ffeead', '\x3d2e26c46f7db8ca46e535950f2f5d3cb189bc5f9127c96a4987cdf0a1841d82', 'fixture', '\xa956fc25b436e39ed61700b2b00e49a8641a740cab392878324659bf8cdcf634');
INSERT INTO public.audit_entries VALUES (3, '2026-11-23 04:20:32.692+05:45', 'system', '', '', '', '', 'server.created', 'text', '01a20566-7dd3-7368-8c4e-768f6b9f8216', 'demo', '{}', '\x3d2e26c46f7db8ca46e535950f2f5d3cb189bc5f9127c96a4987cdf0a1841d82', '\xa0fa38d3c1c6474cf05cc5d27225e573f6375a2cceae082768d4e1553c8702f8', 'fixture', '\xbb69eb8afd6ea755b14d3666c86abc860deb377dd9cf4df918d7e93f89047bb4');
INSERT INTO public.audit_entries VALUES (4, '2026-11-23 04:20:33.707+05:45', 'cli', '0', 'root', '', '', 'project.created', 'work', '01a20566-8155-75dd-80a0-1be77b3de92b', 'work', '{}', '\xa0fa38d3c1c6474cf05cc5d27225e573f6375a2cceae082768d4e1553c8702f8', '\x51e8043c75f559a6b84d95b0626928532eabf56c6a20b5ddda5cef57eff0993f', 'fixture', '\x273add572323e5fb0ace5a0e33f12aa06be21eed07edbcdb33fc1de37d7aa248');
INSERT INTO public.audit_entries VALUES (5, '2026-11-23 04:20:33.707+05:45', 'cli', '0', 'root', '', '', 'server.created', 'clock', '01a20566-81b5-7d2a-877b-d314aaf4063f', 'work', '{}', '\x51e8043c75f559a6b84d95b0626928532eabf56c6a20b5ddda5cef57eff0993f', '\x01c98d89b136b87f873bdb05913cb54ad5d710abcb6274fb517f052b39871c6c', 'fixture', '\x6fb4d9dc0c6b96da5541ecf1f3e94a63dbbae6137b1b0f8d6cb2a5d9a57d8120');
INSERT INTO public.audit_entries VALUES (6, '2026-11-23 04:20:34.172+05:45', 'cli', '0', 'root', '', '', 'key.created', 'fixture', '01a20566-8387-79da-9837-9a83e7918bec', 'work', '{}', '\x01c98d89b136b87f873bdb05913cb54ad5d710abcb6274fb517f052b39871c6c', '\x18a9092c751ecfd76f94465aac88f587e8b5741f30f067e5d573644d0ae3dd52', 'fixture', '\x219482b6f8256155853e74d80eed9aa22ee8a918273a212482ea64841328002c');
INSERT INTO public.audit_entries VALUES (7, '2026-11-23 04:20:35.53+05:45', 'cli', '0', 'root', '', '', 'person.created', 'admin@example.com', '01a20566-865d-7db6-8e38-8805b473f1e7', '', '{"role":"admin"}', '\x18a9092c751ecfd76f94465aac88f587e8b5741f30f067e5d573644d0ae3dd52', '\x7092683f12d1d3d6d3b2b787ae75e1ee54ea95f88a88ea2cfc0b171f06e6db65', 'fixture', '\x28775652a9791ad98b376bf65bb90b4b6b1437a7327e7d9969426efd614fd4db');
INSERT INTO public.audit_entries VALUES (8, '2026-11-23 04:20:35.794+05:45', 'token', '', 'administration token', '127.0.0.1', 'cc37464e-eab5-4dd1-b78f-69895448c124', 'person.created', 'viewer@example.com', '01a20566-89ef-7f00-b646-180cf23b2841', '', '{"role":"viewer"}', '\x7092683f12d1d3d6d3b2b787ae75e1ee54ea95f88a88ea2cfc0b171f06e6db65', '\x18aabe73cd3b69c29b545f0e97c564ed8c0245bec559ad64ebbbca9acdce9c94', 'fixture', '\x4834f7686ae5e0c26ef5760b849d160614cbf68aa6c2e3b6e65b1845c6a2e8a1');
INSERT INTO public.audit_entries VALUES (9, '2026-11-23 04:20:36.006+05:45', 'cli', '0', 'root', '', '', 'catalog.imported', 'Files', 'file', '', '{"added":"1","deleted":"0","updated":"0","url":""}', '\x18aabe73cd3b69c29b545f0e97c564ed8c0245bec559ad64ebbbca9acdce9c94', '\x4a73fc4b41f2c41baf4ef04b49745eb9bda34bd19dd13f666ed7e843834ca3f2', 'fixture', '\xa5ea50bb01a8a0265fa5e715844984856d1ed93f4277a8b0d1bb57538e67c5cc');


--
-- Data for Name: audit_heads; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.audit_heads VALUES (1, 9, '\x4a73fc4b41f2c41baf4ef04b49745eb9bda34bd19dd13f666ed7e843834ca3f2', 'fixture', '\x184dac51935ed66d4d598ca91e98b4053a08deeab02eaf50e4dd6d6063fcb083');


--
-- Data for Name: browser_sessions; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: call_payloads; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: calls; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.calls VALUES ('01a20566-870b-79e6-995b-b61b55374dca', '2026-11-23 04:20:34.542+05:45', '01a20566-8155-75dd-80a0-1be77b3de92b', 'key:01a20566-8387-79da-9837-9a83e7918bec', 'clock__current_time', 'clock', 494, 67, 464, 'ok', '', 'ab7c87c6-ebba-40bf-b073-7e278d1952aa');
INSERT INTO public.calls VALUES ('01a20566-870b-79e7-9794-fd14d857e76c', '2026-11-23 04:20:34.723+05:45', '01a20566-7dd1-7ace-9426-887929d0e201', 'anonymous', 'clock__current_time', 'clock', 282, 67, 464, 'ok', '', '2e7a51de-9aba-4e6e-be3c-365e2a4640ad');


--
-- Data for Name: catalog_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalog_entries VALUES ('41006543-6078-5e37-afa9-42cbc0ded851', 'file', '1.0.0', 'acme', 'acme', 'orders', 'Orders of the fixture', 'http', '[]', false, '', '', false, '', '', '', '', '', '', 'https://mcp.example.com/orders', '', 'unknown', '', NULL, '', '', '[]', '[]', 'active', false, false, 'ff21afb7c00a3d7dd90da61d1962d803', '2026-11-23 04:20:35.995+05:45', '2026-11-23 04:20:35.995+05:45', '');


--
-- Data for Name: catalog_sources; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalog_sources VALUES ('default', 'file', 'Built-in', '', true, '1ded26ea14061e4270da0ca998f9e2fdf524a6ab3e98e256d0a2546285ab9eff', NULL, NULL, '2026-11-23 04:20:35.992+05:45', true, '', '', 519, 519, 0, 0, '2026-01-01 05:45:00+05:45');
INSERT INTO public.catalog_sources VALUES ('file', 'file', 'Files', '', true, '', NULL, NULL, '2026-11-23 04:20:36.005+05:45', true, '', '', 1, 1, 0, 0, '2026-01-01 05:45:00+05:45');


--
-- Data for Name: catalog_templates; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: code_runs; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: connection_flows; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: connection_leases; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: connection_registrations; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: connections; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: ended_sessions; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: goose_db_version; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.goose_db_version VALUES (1, 0, true, '2026-11-23 04:20:29.362661');
INSERT INTO public.goose_db_version VALUES (2, 1, true, '2026-11-23 04:20:29.81554');
INSERT INTO public.goose_db_version VALUES (3, 2, true, '2026-11-23 04:20:30.083495');
INSERT INTO public.goose_db_version VALUES (4, 3, true, '2026-11-23 04:20:30.203515');
INSERT INTO public.goose_db_version VALUES (5, 4, true, '2026-11-23 04:20:30.363757');
INSERT INTO public.goose_db_version VALUES (6, 5, true, '2026-11-23 04:20:30.648876');
INSERT INTO public.goose_db_version VALUES (7, 6, true, '2026-11-23 04:20:30.875301');
INSERT INTO public.goose_db_version VALUES (8, 7, true, '2026-11-23 04:20:31.253527');
INSERT INTO public.goose_db_version VALUES (9, 8, true, '2026-11-23 04:20:31.321618');
INSERT INTO public.goose_db_version VALUES (10, 9, true, '2026-11-23 04:20:31.607489');
INSERT INTO public.goose_db_version VALUES (11, 10, true, '2026-11-23 04:20:31.724467');
INSERT INTO public.goose_db_version VALUES (12, 11, true, '2026-11-23 04:20:31.767843');
INSERT INTO public.goose_db_version VALUES (13, 12, true, '2026-11-23 04:20:31.85792');
INSERT INTO public.goose_db_version VALUES (14, 13, true, '2026-11-23 04:20:32.104924');
INSERT INTO public.goose_db_version VALUES (15, 14, true, '2026-11-23 04:20:32.28052');
INSERT INTO public.goose_db_version VALUES (16, 15, true, '2026-11-23 04:20:32.37994');
INSERT INTO public.goose_db_version VALUES (17, 16, true, '2026-11-23 04:20:32.411818');
INSERT INTO public.goose_db_version VALUES (18, 17, true, '2026-11-23 04:20:32.512812');
INSERT INTO public.goose_db_version VALUES (19, 18, true, '2026-11-23 04:20:32.555975');
INSERT INTO public.goose_db_version VALUES (20, 19, true, '2026-11-23 04:20:32.593231');
INSERT INTO public.goose_db_version VALUES (21, 20, true, '2026-11-23 04:20:32.596613');
INSERT INTO public.goose_db_version VALUES (22, 21, true, '2026-11-23 04:20:32.627985');


--
-- Data for Name: inventories; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.inventories VALUES ('01a20566-7dd2-79c3-acdf-2c8c20531932', '2026-11-23 04:20:33.266+05:45', '2026-11-23 04:20:33.266+05:45', '', '', '[]', '2026-07-28', 'streamable-http', '{"name":"clock","version":"1.0.0"}', '{"tools":{"listChanged":true}}', 'Tells the time in any zone, converts between zones and calculates with dates. Zones are IANA names such as Europe/Berlin.');
INSERT INTO public.inventories VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', '2026-11-23 04:20:33.324+05:45', '2026-11-23 04:20:33.324+05:45', '', '', '[]', '2026-07-28', 'streamable-http', '{"name":"text","version":"1.0.0"}', '{"tools":{"listChanged":true}}', 'Counts, converts, encodes, hashes and compares text exactly, which language models are bad at.');
INSERT INTO public.inventories VALUES ('01a20566-81b5-7d2a-877b-d314aaf4063f', '2026-11-23 04:20:33.82+05:45', '2026-11-23 04:20:33.82+05:45', '', '', '[]', '2026-07-28', 'streamable-http', '{"name":"clock","version":"1.0.0"}', '{"tools":{"listChanged":true}}', 'Tells the time in any zone, converts between zones and calculates with dates. Zones are IANA names such as Europe/Berlin.');


--
-- Data for Name: inventory_changes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.inventory_changes VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', '01a20566-7dd1-7ace-9426-887929d0e201', 2);
INSERT INTO public.inventory_changes VALUES ('01a20566-7dd2-79c3-acdf-2c8c20531932', '01a20566-7dd1-7ace-9426-887929d0e201', 3);
INSERT INTO public.inventory_changes VALUES ('01a20566-81b5-7d2a-877b-d314aaf4063f', '01a20566-8155-75dd-80a0-1be77b3de92b', 2);


--
-- Data for Name: kept_forms; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.keys VALUES ('01a20566-8387-79da-9837-9a83e7918bec', '01a20566-8155-75dd-80a0-1be77b3de92b', 'fixture', '\xe196185059bfb71cd9860f38e5275e9fff13bf54b3f159156e366e5ffe81a9aa', 'gwk_Parr', '2026-11-23 04:20:34.151+05:45', NULL, '2026-11-23 04:20:34+05:45', NULL, 0);


--
-- Data for Name: listings; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: login_limits; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: oauth_clients; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: oauth_codes; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: oauth_grants; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: oauth_limits; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: oauth_tokens; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: project_members; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: projects; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.projects VALUES ('01a20566-7dd1-7ace-9426-887929d0e201', 'demo', 'Demo', 'Two small real MCP servers, to try the gateway with.', 'none', true, 30000, false, 'full', 0, '[]', 0, 0, '2026-11-23 04:20:32.689+05:45', '2026-11-23 04:20:32.689+05:45', 'anyone', false);
INSERT INTO public.projects VALUES ('01a20566-8155-75dd-80a0-1be77b3de92b', 'work', 'Work', '', 'api_key', false, 30000, false, 'full', 0, '["clock__convert_time"]', 0, 0, '2026-11-23 04:20:33.589+05:45', '2026-11-23 04:20:33.589+05:45', 'anyone', false);


--
-- Data for Name: revisions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.revisions VALUES ('toolset:01a20566-7dd1-7ace-9426-887929d0e201', 3);
INSERT INTO public.revisions VALUES ('toolset:01a20566-8155-75dd-80a0-1be77b3de92b', 2);
INSERT INTO public.revisions VALUES ('keys:01a20566-8155-75dd-80a0-1be77b3de92b', 1);
INSERT INTO public.revisions VALUES ('people', 2);
INSERT INTO public.revisions VALUES ('catalog', 2);


--
-- Data for Name: servers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.servers VALUES ('01a20566-7dd2-79c3-acdf-2c8c20531932', '01a20566-7dd1-7ace-9426-887929d0e201', 'clock', 'clock', 'http://127.0.0.1:38961/demo/clock', 'auto', 'none', '', '{}', '[]', '[]', true, 60000, 'shared', 'follow', '', '', '[]', 1, '2026-11-23 04:20:32.69+05:45', '2026-11-23 04:20:32.69+05:45', '[]', 512);
INSERT INTO public.servers VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', '01a20566-7dd1-7ace-9426-887929d0e201', 'text', 'text', 'http://127.0.0.1:37863/demo/text', 'auto', 'none', '', '{}', '[]', '[]', true, 60000, 'shared', 'follow', '', '', '[]', 1, '2026-11-23 04:20:32.691+05:45', '2026-11-23 04:20:32.691+05:45', '[]', 512);
INSERT INTO public.servers VALUES ('01a20566-81b5-7d2a-877b-d314aaf4063f', '01a20566-8155-75dd-80a0-1be77b3de92b', 'clock', 'clock', 'http://127.0.0.1:38961/demo/clock', 'auto', 'none', '', '{"X-Fixture":"v1:fixture:cFipbHVz2SDoZZIDHzHJLkYJtzEbRWU6drT42cOObdwvIcL7nc_yb3RfBSGrgvSod2YO"}', '[]', '[]', true, 60000, 'shared', 'follow', '', '', '[]', 1, '2026-11-23 04:20:33.685+05:45', '2026-11-23 04:20:33.685+05:45', '[]', 512);


--
-- Data for Name: session_levels; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: session_resources; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: setup_tokens; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: setups; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.setups VALUES (1, '01a20566-865d-7db6-8e38-8805b473f1e7', '2026-11-23 04:20:34.877+05:45');


--
-- Data for Name: spent_sign_ins; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: tools; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tools VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', 'count_text', 0, '{"name":"count_text","title":"Count text","description":"Counts characters, bytes, words, lines and sentences of a text exactly.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."}},"required":["text"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"characters":{"type":"integer"},"bytes":{"type":"integer"},"words":{"type":"integer"},"lines":{"type":"integer"},"sentences":{"type":"integer"}},"required":["characters","bytes","words","lines","sentences"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '99f9730bd76f2eb5ea3b3c5caf84d335626cd32d390ac20c59340fdd248bccbd', '', '2026-11-23 04:20:33.131+05:45', '2026-11-23 04:20:33.131+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', 'change_case', 1, '{"name":"change_case","title":"Change case","description":"Writes a text in another case: upper, lower, title, or an identifier in camel, pascal, snake, kebab or constant case.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."},"case":{"type":"string","enum":["upper","lower","title","camel","pascal","snake","kebab","constant"]}},"required":["text","case"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', 'ae63736e9f2c7fd055b16c0ae5335edf3716add6be2e1a2d63b682ef279f498a', '', '2026-11-23 04:20:33.131+05:45', '2026-11-23 04:20:33.131+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', 'base64', 2, '{"name":"base64","title":"Base64","description":"Encodes text as Base64 or decodes Base64 to text, with the standard or the URL-safe alphabet.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."},"direction":{"type":"string","enum":["encode","decode"]},"urlSafe":{"type":"boolean","default":false}},"required":["text","direction"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '00ef8aeaa6a25b23a9998f7f1e99e3a1c25e2d7e1bbcc0554bd2949b6871cb24', '', '2026-11-23 04:20:33.131+05:45', '2026-11-23 04:20:33.131+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', 'hash_text', 3, '{"name":"hash_text","title":"Hash text","description":"Calculates the hexadecimal hash of the UTF-8 bytes of a text.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."},"algorithm":{"type":"string","enum":["sha256","sha384","sha512"],"default":"sha256"}},"required":["text"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"algorithm":{"type":"string"},"hash":{"type":"string"}},"required":["algorithm","hash"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', 'e5b39b5704ebd436f01d8290be5116257d01581c7ac320a98408b9fbfe8db7cc', '', '2026-11-23 04:20:33.131+05:45', '2026-11-23 04:20:33.131+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', 'diff_text', 4, '{"name":"diff_text","title":"Compare texts","description":"Compares two texts line by line and tells which lines were removed, added or kept, in the notation of diff.","inputSchema":{"type":"object","properties":{"before":{"type":"string"},"after":{"type":"string"}},"required":["before","after"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"equal":{"type":"boolean"},"added":{"type":"integer"},"removed":{"type":"integer"},"diff":{"type":"string"}},"required":["equal","added","removed","diff"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '90c7640755d7b8ce53414ea9e2b82c77bc77efc4110bdb874f1653d3df3d0a41', '', '2026-11-23 04:20:33.131+05:45', '2026-11-23 04:20:33.131+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd3-7368-8c4e-768f6b9f8216', 'replace_text', 5, '{"name":"replace_text","title":"Replace text","description":"Replaces every occurrence of a piece of text by another, literally, and tells how many there were.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."},"find":{"type":"string","minLength":1},"replacement":{"type":"string"}},"required":["text","find","replacement"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"},"replaced":{"type":"integer"}},"required":["text","replaced"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', 'e4c17b7f24aa2d502a886bf7e4529bafb6cf3b6a8257c080842f63ae5ed745b3', '', '2026-11-23 04:20:33.131+05:45', '2026-11-23 04:20:33.131+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd2-79c3-acdf-2c8c20531932', 'current_time', 0, '{"name":"current_time","title":"Current time","description":"Tells the present date and time in a time zone, with weekday and offset from UTC.","inputSchema":{"type":"object","properties":{"zone":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}},"required":["zone"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}', 'b257ca48184b8a275611192a889d7f2b6fb3f302cbdb39b2b574dc38d8d93d31', '', '2026-11-23 04:20:33.169+05:45', '2026-11-23 04:20:33.169+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd2-79c3-acdf-2c8c20531932', 'convert_time', 1, '{"name":"convert_time","title":"Convert time","description":"Converts a date and time from one time zone to another, daylight saving included.","inputSchema":{"type":"object","properties":{"time":{"type":"string","description":"Local date and time in the zone from, as 2026-03-29T14:30 with optional seconds."},"from":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."},"to":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}},"required":["time","from","to"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"from":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]},"to":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]}},"required":["from","to"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', 'ef25b849972afec6e643aa6e8daa6024721f7dc49fa27ee267cedec45ff41f62', '', '2026-11-23 04:20:33.169+05:45', '2026-11-23 04:20:33.169+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd2-79c3-acdf-2c8c20531932', 'days_between', 2, '{"name":"days_between","title":"Days between dates","description":"Counts the days from one date to another, and how many of them are working days (Monday to Friday). Negative when the end lies before the start.","inputSchema":{"type":"object","properties":{"start":{"type":"string","format":"date"},"end":{"type":"string","format":"date"}},"required":["start","end"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"days":{"type":"integer"},"workingDays":{"type":"integer"},"weeks":{"type":"number"}},"required":["days","workingDays","weeks"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '68ee3dbb6663c0bab17107c6307353cbd4933a48e41b00165dd56ff81ae4a1f0', '', '2026-11-23 04:20:33.169+05:45', '2026-11-23 04:20:33.169+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd2-79c3-acdf-2c8c20531932', 'add_to_date', 3, '{"name":"add_to_date","title":"Add to a date","description":"Adds years, months, weeks and days to a date; negative numbers subtract. A day that the month does not have becomes its last day.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"years":{"type":"integer"},"months":{"type":"integer"},"weeks":{"type":"integer"},"days":{"type":"integer"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"weekday":{"type":"string"}},"required":["date","weekday"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '789c79b228f804c119c3c42f1c47b34831c3da6350a8710373228b0eba216501', '', '2026-11-23 04:20:33.169+05:45', '2026-11-23 04:20:33.169+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-7dd2-79c3-acdf-2c8c20531932', 'calendar_info', 4, '{"name":"calendar_info","title":"Calendar information","description":"Tells weekday, ISO week, day of the year, quarter and leap year of a date.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"weekday":{"type":"string"},"isoWeek":{"type":"string"},"dayOfYear":{"type":"integer"},"quarter":{"type":"integer"},"leapYear":{"type":"boolean"},"daysInMonth":{"type":"integer"}},"required":["weekday","isoWeek","dayOfYear","quarter","leapYear","daysInMonth"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '6e0c5a195e160a72efd2850c4f4fdc088f6803b88c95f4d5181c900be1319356', '', '2026-11-23 04:20:33.169+05:45', '2026-11-23 04:20:33.169+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-81b5-7d2a-877b-d314aaf4063f', 'current_time', 0, '{"name":"current_time","title":"Current time","description":"Tells the present date and time in a time zone, with weekday and offset from UTC.","inputSchema":{"type":"object","properties":{"zone":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}},"required":["zone"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}', 'b257ca48184b8a275611192a889d7f2b6fb3f302cbdb39b2b574dc38d8d93d31', '', '2026-11-23 04:20:33.82+05:45', '2026-11-23 04:20:33.82+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-81b5-7d2a-877b-d314aaf4063f', 'convert_time', 1, '{"name":"convert_time","title":"Convert time","description":"Converts a date and time from one time zone to another, daylight saving included.","inputSchema":{"type":"object","properties":{"time":{"type":"string","description":"Local date and time in the zone from, as 2026-03-29T14:30 with optional seconds."},"from":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."},"to":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}},"required":["time","from","to"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"from":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]},"to":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]}},"required":["from","to"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', 'ef25b849972afec6e643aa6e8daa6024721f7dc49fa27ee267cedec45ff41f62', '', '2026-11-23 04:20:33.82+05:45', '2026-11-23 04:20:33.82+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-81b5-7d2a-877b-d314aaf4063f', 'days_between', 2, '{"name":"days_between","title":"Days between dates","description":"Counts the days from one date to another, and how many of them are working days (Monday to Friday). Negative when the end lies before the start.","inputSchema":{"type":"object","properties":{"start":{"type":"string","format":"date"},"end":{"type":"string","format":"date"}},"required":["start","end"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"days":{"type":"integer"},"workingDays":{"type":"integer"},"weeks":{"type":"number"}},"required":["days","workingDays","weeks"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '68ee3dbb6663c0bab17107c6307353cbd4933a48e41b00165dd56ff81ae4a1f0', '', '2026-11-23 04:20:33.82+05:45', '2026-11-23 04:20:33.82+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-81b5-7d2a-877b-d314aaf4063f', 'add_to_date', 3, '{"name":"add_to_date","title":"Add to a date","description":"Adds years, months, weeks and days to a date; negative numbers subtract. A day that the month does not have becomes its last day.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"years":{"type":"integer"},"months":{"type":"integer"},"weeks":{"type":"integer"},"days":{"type":"integer"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"weekday":{"type":"string"}},"required":["date","weekday"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '789c79b228f804c119c3c42f1c47b34831c3da6350a8710373228b0eba216501', '', '2026-11-23 04:20:33.82+05:45', '2026-11-23 04:20:33.82+05:45', '');
INSERT INTO public.tools VALUES ('01a20566-81b5-7d2a-877b-d314aaf4063f', 'calendar_info', 4, '{"name":"calendar_info","title":"Calendar information","description":"Tells weekday, ISO week, day of the year, quarter and leap year of a date.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"weekday":{"type":"string"},"isoWeek":{"type":"string"},"dayOfYear":{"type":"integer"},"quarter":{"type":"integer"},"leapYear":{"type":"boolean"},"daysInMonth":{"type":"integer"}},"required":["weekday","isoWeek","dayOfYear","quarter","leapYear","daysInMonth"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}', '6e0c5a195e160a72efd2850c4f4fdc088f6803b88c95f4d5181c900be1319356', '', '2026-11-23 04:20:33.82+05:45', '2026-11-23 04:20:33.82+05:45', '');


--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES ('01a20566-865d-7db6-8e38-8805b473f1e7', 'admin@example.com', 'admin@example.com', 'admin', 'admin', '$argon2id$v=19$m=19456,t=2,p=1$3ftxoNfsOxgUa/WcT2HQnQ$DNAc9oSJQnZbmeIeAVf+qHAVhpCG7RCbsYllj3a5WEM', '', '', NULL, '2026-11-23 04:20:34.877+05:45', NULL);
INSERT INTO public.users VALUES ('01a20566-89ef-7f00-b646-180cf23b2841', 'viewer@example.com', 'viewer@example.com', 'viewer', 'viewer', '', '', '', NULL, '2026-11-23 04:20:35.791+05:45', NULL);


--
-- Name: goose_db_version_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.goose_db_version_id_seq', 22, true);


--
-- Name: audit_entries audit_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_pkey PRIMARY KEY (seq);


--
-- Name: audit_heads audit_heads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit_heads
    ADD CONSTRAINT audit_heads_pkey PRIMARY KEY (id);


--
-- Name: browser_sessions browser_sessions_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_id_key UNIQUE (id);


--
-- Name: browser_sessions browser_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_pkey PRIMARY KEY (hash);


--
-- Name: call_payloads call_payloads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.call_payloads
    ADD CONSTRAINT call_payloads_pkey PRIMARY KEY (call_id);


--
-- Name: calls calls_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (id);


--
-- Name: catalog_entries catalog_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalog_entries
    ADD CONSTRAINT catalog_entries_pkey PRIMARY KEY (id);


--
-- Name: catalog_sources catalog_sources_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalog_sources
    ADD CONSTRAINT catalog_sources_pkey PRIMARY KEY (id);


--
-- Name: catalog_templates catalog_templates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalog_templates
    ADD CONSTRAINT catalog_templates_pkey PRIMARY KEY (id);


--
-- Name: catalog_templates catalog_templates_slug_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalog_templates
    ADD CONSTRAINT catalog_templates_slug_key UNIQUE (slug);


--
-- Name: code_runs code_runs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.code_runs
    ADD CONSTRAINT code_runs_pkey PRIMARY KEY (id);


--
-- Name: connection_flows connection_flows_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connection_flows
    ADD CONSTRAINT connection_flows_pkey PRIMARY KEY (state_hash);


--
-- Name: connection_leases connection_leases_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connection_leases
    ADD CONSTRAINT connection_leases_pkey PRIMARY KEY (server_id);


--
-- Name: connection_registrations connection_registrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connection_registrations
    ADD CONSTRAINT connection_registrations_pkey PRIMARY KEY (id);


--
-- Name: connections connections_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_pkey PRIMARY KEY (server_id);


--
-- Name: ended_sessions ended_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ended_sessions
    ADD CONSTRAINT ended_sessions_pkey PRIMARY KEY (hash);


--
-- Name: goose_db_version goose_db_version_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.goose_db_version
    ADD CONSTRAINT goose_db_version_pkey PRIMARY KEY (id);


--
-- Name: inventories inventories_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.inventories
    ADD CONSTRAINT inventories_pkey PRIMARY KEY (server_id);


--
-- Name: inventory_changes inventory_changes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.inventory_changes
    ADD CONSTRAINT inventory_changes_pkey PRIMARY KEY (server_id);


--
-- Name: kept_forms kept_forms_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kept_forms
    ADD CONSTRAINT kept_forms_pkey PRIMARY KEY (hash);


--
-- Name: keys keys_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_hash_key UNIQUE (hash);


--
-- Name: keys keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (id);


--
-- Name: listings listings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.listings
    ADD CONSTRAINT listings_pkey PRIMARY KEY (server_id, kind, ident);


--
-- Name: login_limits login_limits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.login_limits
    ADD CONSTRAINT login_limits_pkey PRIMARY KEY (subject);


--
-- Name: oauth_clients oauth_clients_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_clients
    ADD CONSTRAINT oauth_clients_pkey PRIMARY KEY (id);


--
-- Name: oauth_codes oauth_codes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_pkey PRIMARY KEY (hash);


--
-- Name: oauth_grants oauth_grants_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_grants
    ADD CONSTRAINT oauth_grants_pkey PRIMARY KEY (id);


--
-- Name: oauth_limits oauth_limits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_limits
    ADD CONSTRAINT oauth_limits_pkey PRIMARY KEY (subject);


--
-- Name: oauth_tokens oauth_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_tokens
    ADD CONSTRAINT oauth_tokens_pkey PRIMARY KEY (hash);


--
-- Name: project_members project_members_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.project_members
    ADD CONSTRAINT project_members_pkey PRIMARY KEY (project_id, user_id);


--
-- Name: projects projects_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);


--
-- Name: projects projects_slug_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_slug_key UNIQUE (slug);


--
-- Name: revisions revisions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT revisions_pkey PRIMARY KEY (topic);


--
-- Name: servers servers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.servers
    ADD CONSTRAINT servers_pkey PRIMARY KEY (id);


--
-- Name: servers servers_project_id_alias_fold_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.servers
    ADD CONSTRAINT servers_project_id_alias_fold_key UNIQUE (project_id, alias_fold);


--
-- Name: session_levels session_levels_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.session_levels
    ADD CONSTRAINT session_levels_pkey PRIMARY KEY (session);


--
-- Name: session_resources session_resources_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.session_resources
    ADD CONSTRAINT session_resources_pkey PRIMARY KEY (session, uri_hash);


--
-- Name: setup_tokens setup_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.setup_tokens
    ADD CONSTRAINT setup_tokens_pkey PRIMARY KEY (hash);


--
-- Name: setups setups_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.setups
    ADD CONSTRAINT setups_pkey PRIMARY KEY (id);


--
-- Name: spent_sign_ins spent_sign_ins_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.spent_sign_ins
    ADD CONSTRAINT spent_sign_ins_pkey PRIMARY KEY (hash);


--
-- Name: tools tools_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tools
    ADD CONSTRAINT tools_pkey PRIMARY KEY (server_id, name);


--
-- Name: users users_email_fold_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_fold_key UNIQUE (email_fold);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);


--
-- Name: audit_entries_action; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_entries_action ON public.audit_entries USING btree (action, seq);


--
-- Name: audit_entries_project; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_entries_project ON public.audit_entries USING btree (project, seq);


--
-- Name: browser_sessions_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX browser_sessions_user ON public.browser_sessions USING btree (user_id, created_at);


--
-- Name: call_payloads_age; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX call_payloads_age ON public.call_payloads USING btree (at);


--
-- Name: call_payloads_project; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX call_payloads_project ON public.call_payloads USING btree (project_id);


--
-- Name: calls_project; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX calls_project ON public.calls USING btree (project_id, id);


--
-- Name: catalog_entries_name; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX catalog_entries_name ON public.catalog_entries USING btree (publisher_name, server_name);


--
-- Name: catalog_entries_source; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX catalog_entries_source ON public.catalog_entries USING btree (source_id);


--
-- Name: catalog_sources_url; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX catalog_sources_url ON public.catalog_sources USING btree (url) WHERE (url <> ''::text);


--
-- Name: catalog_templates_source; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX catalog_templates_source ON public.catalog_templates USING btree (source_id);


--
-- Name: code_runs_project; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX code_runs_project ON public.code_runs USING btree (project_id, id);


--
-- Name: connection_flows_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX connection_flows_expiry ON public.connection_flows USING btree (expires_at);


--
-- Name: connection_flows_server; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX connection_flows_server ON public.connection_flows USING btree (server_id);


--
-- Name: connection_registrations_held; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX connection_registrations_held ON public.connection_registrations USING btree (issuer, redirect_uri) WHERE (retired_at IS NULL);


--
-- Name: connections_refresh; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX connections_refresh ON public.connections USING btree (refresh_at);


--
-- Name: ended_sessions_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ended_sessions_expiry ON public.ended_sessions USING btree (expires_at);


--
-- Name: inventory_changes_later; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX inventory_changes_later ON public.inventory_changes USING btree (project_id, revision);


--
-- Name: kept_forms_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kept_forms_user ON public.kept_forms USING btree (user_id, expires_at);


--
-- Name: keys_project; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX keys_project ON public.keys USING btree (project_id);


--
-- Name: oauth_clients_used; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_clients_used ON public.oauth_clients USING btree (last_used_at, created_at);


--
-- Name: oauth_codes_client; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_codes_client ON public.oauth_codes USING btree (client_id);


--
-- Name: oauth_codes_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_codes_expiry ON public.oauth_codes USING btree (expires_at);


--
-- Name: oauth_codes_project; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_codes_project ON public.oauth_codes USING btree (project_id);


--
-- Name: oauth_codes_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_codes_user ON public.oauth_codes USING btree (user_id);


--
-- Name: oauth_grants_client; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_grants_client ON public.oauth_grants USING btree (client_id);


--
-- Name: oauth_grants_project; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_grants_project ON public.oauth_grants USING btree (project_id);


--
-- Name: oauth_grants_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_grants_user ON public.oauth_grants USING btree (user_id, created_at);


--
-- Name: oauth_tokens_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_tokens_expiry ON public.oauth_tokens USING btree (expires_at);


--
-- Name: oauth_tokens_grant; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX oauth_tokens_grant ON public.oauth_tokens USING btree (grant_id, kind, created_at);


--
-- Name: project_members_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX project_members_user ON public.project_members USING btree (user_id);


--
-- Name: session_levels_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX session_levels_expiry ON public.session_levels USING btree (expires_at);


--
-- Name: session_resources_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX session_resources_expiry ON public.session_resources USING btree (expires_at);


--
-- Name: users_identity; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX users_identity ON public.users USING btree (oidc_issuer, oidc_subject) WHERE (oidc_subject <> ''::text);


--
-- Name: browser_sessions browser_sessions_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: catalog_entries catalog_entries_source_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalog_entries
    ADD CONSTRAINT catalog_entries_source_id_fkey FOREIGN KEY (source_id) REFERENCES public.catalog_sources(id) ON DELETE CASCADE;


--
-- Name: catalog_templates catalog_templates_source_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalog_templates
    ADD CONSTRAINT catalog_templates_source_id_fkey FOREIGN KEY (source_id) REFERENCES public.catalog_sources(id) ON DELETE CASCADE;


--
-- Name: code_runs code_runs_project_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.code_runs
    ADD CONSTRAINT code_runs_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;


--
-- Name: connection_flows connection_flows_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connection_flows
    ADD CONSTRAINT connection_flows_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.servers(id) ON DELETE CASCADE;


--
-- Name: connection_leases connection_leases_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connection_leases
    ADD CONSTRAINT connection_leases_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.servers(id) ON DELETE CASCADE;


--
-- Name: connections connections_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.servers(id) ON DELETE CASCADE;


--
-- Name: inventories inventories_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.inventories
    ADD CONSTRAINT inventories_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.servers(id) ON DELETE CASCADE;


--
-- Name: inventory_changes inventory_changes_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.inventory_changes
    ADD CONSTRAINT inventory_changes_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.servers(id) ON DELETE CASCADE;


--
-- Name: kept_forms kept_forms_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kept_forms
    ADD CONSTRAINT kept_forms_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: keys keys_project_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;


--
-- Name: listings listings_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.listings
    ADD CONSTRAINT listings_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.servers(id) ON DELETE CASCADE;


--
-- Name: oauth_codes oauth_codes_client_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id) ON DELETE CASCADE;


--
-- Name: oauth_codes oauth_codes_project_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;


--
-- Name: oauth_codes oauth_codes_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_codes
    ADD CONSTRAINT oauth_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: oauth_grants oauth_grants_client_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_grants
    ADD CONSTRAINT oauth_grants_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.oauth_clients(id) ON DELETE CASCADE;


--
-- Name: oauth_grants oauth_grants_project_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_grants
    ADD CONSTRAINT oauth_grants_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;


--
-- Name: oauth_grants oauth_grants_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_grants
    ADD CONSTRAINT oauth_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: oauth_tokens oauth_tokens_grant_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.oauth_tokens
    ADD CONSTRAINT oauth_tokens_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES public.oauth_grants(id) ON DELETE CASCADE;


--
-- Name: project_members project_members_project_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.project_members
    ADD CONSTRAINT project_members_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;


--
-- Name: project_members project_members_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.project_members
    ADD CONSTRAINT project_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: servers servers_project_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.servers
    ADD CONSTRAINT servers_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id) ON DELETE CASCADE;


--
-- Name: tools tools_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tools
    ADD CONSTRAINT tools_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.servers(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


