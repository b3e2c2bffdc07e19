PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES(1,0,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(2,1,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(3,2,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(4,3,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(5,4,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(6,5,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(7,6,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(8,7,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(9,8,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(10,9,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(11,10,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(12,11,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(13,12,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(14,13,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(15,14,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(16,15,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(17,16,1,'2026-11-22 22:35:22');
INSERT INTO goose_db_version VALUES(18,17,1,'2026-11-22 22:35:23');
INSERT INTO goose_db_version VALUES(19,18,1,'2026-11-22 22:35:23');
INSERT INTO goose_db_version VALUES(20,19,1,'2026-11-22 22:35:23');
INSERT INTO goose_db_version VALUES(21,20,1,'2026-11-22 22:35:23');
INSERT INTO goose_db_version VALUES(22,21,1,'2026-11-22 22:35:23');
CREATE TABLE projects (
    id text PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    name text NOT NULL,
    description text NOT NULL,
    auth_mode text NOT NULL CHECK (auth_mode IN ('none', 'api_key', 'oauth')),
    code_mode_enabled boolean NOT NULL,
    code_mode_timeout_ms integer NOT NULL,
    code_mode_allow_fetch boolean NOT NULL,
    tool_exposure text NOT NULL CHECK (tool_exposure IN ('full', 'builtin')),
    tool_name_limit integer NOT NULL,
    disabled_tools text NOT NULL,
    rate_per_second real NOT NULL,
    rate_burst integer NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL
, oauth_access text NOT NULL DEFAULT 'anyone' CHECK (oauth_access IN ('anyone', 'members')), record_payloads boolean NOT NULL DEFAULT false);
INSERT INTO projects VALUES('01a20566-583b-75bf-a54d-aa18c1dfb225','demo','Demo','Two small real MCP servers, to try the gateway with.','none',1,30000,0,'full',0,'[]',0.0,0,'2026-11-22 22:35:23.067','2026-11-22 22:35:23.067','anyone',0);
INSERT INTO projects VALUES('01a20566-59d2-7876-b462-0fd6aa495ef3','work','Work','','api_key',0,30000,0,'full',0,'["clock__convert_time"]',0.0,0,'2026-11-22 22:35:23.474','2026-11-22 22:35:23.474','anyone',0);
CREATE TABLE servers (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    alias text NOT NULL,
    alias_fold text NOT NULL,
    url text NOT NULL,
    transport text NOT NULL CHECK (transport IN ('auto', 'streamable-http', 'sse')),
    auth_type text NOT NULL CHECK (auth_type IN ('none', 'bearer', 'oauth')),
    auth_bearer text NOT NULL,
    headers text NOT NULL,
    allowed_tools text NOT NULL,
    deny_tools text NOT NULL,
    enabled boolean NOT NULL,
    timeout_ms integer NOT NULL,
    session_mode text NOT NULL CHECK (session_mode IN ('shared', 'per-client')),
    definition_policy text NOT NULL CHECK (definition_policy IN ('follow', 'approve')),
    o_auth_client_id text NOT NULL,
    o_auth_client_secret text NOT NULL,
    o_auth_scopes text NOT NULL,
    config_version integer NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL, url_secrets text NOT NULL DEFAULT '[]', max_concurrent integer NOT NULL DEFAULT 512,
    UNIQUE (project_id, alias_fold)
);
INSERT INTO servers VALUES('01a20566-583c-72e7-be6b-989c28cdfd9b','01a20566-583b-75bf-a54d-aa18c1dfb225','clock','clock','http://127.0.0.1:45347/demo/clock','auto','none','','{}','[]','[]',1,60000,'shared','follow','','','[]',1,'2026-11-22 22:35:23.068','2026-11-22 22:35:23.068','[]',512);
INSERT INTO servers VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','01a20566-583b-75bf-a54d-aa18c1dfb225','text','text','http://127.0.0.1:40357/demo/text','auto','none','','{}','[]','[]',1,60000,'shared','follow','','','[]',1,'2026-11-22 22:35:23.068','2026-11-22 22:35:23.068','[]',512);
INSERT INTO servers VALUES('01a20566-59d2-7e16-b4de-df43268dfbb9','01a20566-59d2-7876-b462-0fd6aa495ef3','clock','clock','http://127.0.0.1:45347/demo/clock','auto','none','','{"X-Fixture":"v1:fixture:lFdO_2GJym_xV8PVjv2NfLydDzq_WUqmsN8wCfXcCcM2nFiWXZ0pzGgE3_zxeygdOy3E"}','[]','[]',1,60000,'shared','follow','','','[]',1,'2026-11-22 22:35:23.474','2026-11-22 22:35:23.474','[]',512);
CREATE TABLE inventories (
    server_id text PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    synced_at datetime,
    attempted_at datetime NOT NULL,
    error_code text NOT NULL,
    error_message text NOT NULL,
    warnings text NOT NULL,
    protocol_version text NOT NULL,
    transport_used text NOT NULL,
    server_info text NOT NULL,
    capabilities text NOT NULL,
    instructions text NOT NULL
);
INSERT INTO inventories VALUES('01a20566-583c-72e7-be6b-989c28cdfd9b','2026-11-22 22:35:23.282','2026-11-22 22:35:23.282','','','[]','2026-07-28','streamable-http','{"name":"clock","version":"1.0.0"}','{"tools":{"listChanged":true}}','Tells the time in any zone, converts between zones and calculates with dates. Zones are IANA names such as Europe/Berlin.');
INSERT INTO inventories VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','2026-11-22 22:35:23.337','2026-11-22 22:35:23.337','','','[]','2026-07-28','streamable-http','{"name":"text","version":"1.0.0"}','{"tools":{"listChanged":true}}','Counts, converts, encodes, hashes and compares text exactly, which language models are bad at.');
INSERT INTO inventories VALUES('01a20566-59d2-7e16-b4de-df43268dfbb9','2026-11-22 22:35:23.489','2026-11-22 22:35:23.489','','','[]','2026-07-28','streamable-http','{"name":"clock","version":"1.0.0"}','{"tools":{"listChanged":true}}','Tells the time in any zone, converts between zones and calculates with dates. Zones are IANA names such as Europe/Berlin.');
CREATE TABLE tools (
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    name text NOT NULL,
    position integer NOT NULL,
    definition text NOT NULL,
    definition_hash text NOT NULL,
    approved_hash text NOT NULL,
    first_seen_at datetime NOT NULL,
    changed_at datetime NOT NULL, previous_definition text NOT NULL DEFAULT '',
    PRIMARY KEY (server_id, name)
);
INSERT INTO tools VALUES('01a20566-583c-72e7-be6b-989c28cdfd9b','current_time',0,'{"name":"current_time","title":"Current time","description":"Tells the present date and time in a time zone, with weekday and offset from UTC.","inputSchema":{"type":"object","properties":{"zone":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}},"required":["zone"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}','b257ca48184b8a275611192a889d7f2b6fb3f302cbdb39b2b574dc38d8d93d31','','2026-11-22 22:35:23.240','2026-11-22 22:35:23.240','');
INSERT INTO tools VALUES('01a20566-583c-72e7-be6b-989c28cdfd9b','convert_time',1,'{"name":"convert_time","title":"Convert time","description":"Converts a date and time from one time zone to another, daylight saving included.","inputSchema":{"type":"object","properties":{"time":{"type":"string","description":"Local date and time in the zone from, as 2026-03-29T14:30 with optional seconds."},"from":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."},"to":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}},"required":["time","from","to"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"from":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]},"to":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]}},"required":["from","to"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','ef25b849972afec6e643aa6e8daa6024721f7dc49fa27ee267cedec45ff41f62','','2026-11-22 22:35:23.240','2026-11-22 22:35:23.240','');
INSERT INTO tools VALUES('01a20566-583c-72e7-be6b-989c28cdfd9b','days_between',2,'{"name":"days_between","title":"Days between dates","description":"Counts the days from one date to another, and how many of them are working days (Monday to Friday). Negative when the end lies before the start.","inputSchema":{"type":"object","properties":{"start":{"type":"string","format":"date"},"end":{"type":"string","format":"date"}},"required":["start","end"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"days":{"type":"integer"},"workingDays":{"type":"integer"},"weeks":{"type":"number"}},"required":["days","workingDays","weeks"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','68ee3dbb6663c0bab17107c6307353cbd4933a48e41b00165dd56ff81ae4a1f0','','2026-11-22 22:35:23.240','2026-11-22 22:35:23.240','');
INSERT INTO tools VALUES('01a20566-583c-72e7-be6b-989c28cdfd9b','add_to_date',3,'{"name":"add_to_date","title":"Add to a date","description":"Adds years, months, weeks and days to a date; negative numbers subtract. A day that the month does not have becomes its last day.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"years":{"type":"integer"},"months":{"type":"integer"},"weeks":{"type":"integer"},"days":{"type":"integer"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"weekday":{"type":"string"}},"required":["date","weekday"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','789c79b228f804c119c3c42f1c47b34831c3da6350a8710373228b0eba216501','','2026-11-22 22:35:23.240','2026-11-22 22:35:23.240','');
INSERT INTO tools VALUES('01a20566-583c-72e7-be6b-989c28cdfd9b','calendar_info',4,'{"name":"calendar_info","title":"Calendar information","description":"Tells weekday, ISO week, day of the year, quarter and leap year of a date.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"weekday":{"type":"string"},"isoWeek":{"type":"string"},"dayOfYear":{"type":"integer"},"quarter":{"type":"integer"},"leapYear":{"type":"boolean"},"daysInMonth":{"type":"integer"}},"required":["weekday","isoWeek","dayOfYear","quarter","leapYear","daysInMonth"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','6e0c5a195e160a72efd2850c4f4fdc088f6803b88c95f4d5181c900be1319356','','2026-11-22 22:35:23.240','2026-11-22 22:35:23.240','');
INSERT INTO tools VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','count_text',0,'{"name":"count_text","title":"Count text","description":"Counts characters, bytes, words, lines and sentences of a text exactly.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."}},"required":["text"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"characters":{"type":"integer"},"bytes":{"type":"integer"},"words":{"type":"integer"},"lines":{"type":"integer"},"sentences":{"type":"integer"}},"required":["characters","bytes","words","lines","sentences"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','99f9730bd76f2eb5ea3b3c5caf84d335626cd32d390ac20c59340fdd248bccbd','','2026-11-22 22:35:23.276','2026-11-22 22:35:23.276','');
INSERT INTO tools VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','change_case',1,'{"name":"change_case","title":"Change case","description":"Writes a text in another case: upper, lower, title, or an identifier in camel, pascal, snake, kebab or constant case.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."},"case":{"type":"string","enum":["upper","lower","title","camel","pascal","snake","kebab","constant"]}},"required":["text","case"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','ae63736e9f2c7fd055b16c0ae5335edf3716add6be2e1a2d63b682ef279f498a','','2026-11-22 22:35:23.276','2026-11-22 22:35:23.276','');
INSERT INTO tools VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','base64',2,'{"name":"base64","title":"Base64","description":"Encodes text as Base64 or decodes Base64 to text, with the standard or the URL-safe alphabet.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."},"direction":{"type":"string","enum":["encode","decode"]},"urlSafe":{"type":"boolean","default":false}},"required":["text","direction"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','00ef8aeaa6a25b23a9998f7f1e99e3a1c25e2d7e1bbcc0554bd2949b6871cb24','','2026-11-22 22:35:23.276','2026-11-22 22:35:23.276','');
INSERT INTO tools VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','hash_text',3,'{"name":"hash_text","title":"Hash text","description":"Calculates the hexadecimal hash of the UTF-8 bytes of a text.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."},"algorithm":{"type":"string","enum":["sha256","sha384","sha512"],"default":"sha256"}},"required":["text"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"algorithm":{"type":"string"},"hash":{"type":"string"}},"required":["algorithm","hash"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','e5b39b5704ebd436f01d8290be5116257d01581c7ac320a98408b9fbfe8db7cc','','2026-11-22 22:35:23.276','2026-11-22 22:35:23.276','');
INSERT INTO tools VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','diff_text',4,'{"name":"diff_text","title":"Compare texts","description":"Compares two texts line by line and tells which lines were removed, added or kept, in the notation of diff.","inputSchema":{"type":"object","properties":{"before":{"type":"string"},"after":{"type":"string"}},"required":["before","after"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"equal":{"type":"boolean"},"added":{"type":"integer"},"removed":{"type":"integer"},"diff":{"type":"string"}},"required":["equal","added","removed","diff"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','90c7640755d7b8ce53414ea9e2b82c77bc77efc4110bdb874f1653d3df3d0a41','','2026-11-22 22:35:23.276','2026-11-22 22:35:23.276','');
INSERT INTO tools VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','replace_text',5,'{"name":"replace_text","title":"Replace text","description":"Replaces every occurrence of a piece of text by another, literally, and tells how many there were.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to work on."},"find":{"type":"string","minLength":1},"replacement":{"type":"string"}},"required":["text","find","replacement"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"},"replaced":{"type":"integer"}},"required":["text","replaced"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','e4c17b7f24aa2d502a886bf7e4529bafb6cf3b6a8257c080842f63ae5ed745b3','','2026-11-22 22:35:23.276','2026-11-22 22:35:23.276','');
INSERT INTO tools VALUES('01a20566-59d2-7e16-b4de-df43268dfbb9','current_time',0,'{"name":"current_time","title":"Current time","description":"Tells the present date and time in a time zone, with weekday and offset from UTC.","inputSchema":{"type":"object","properties":{"zone":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}},"required":["zone"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}','b257ca48184b8a275611192a889d7f2b6fb3f302cbdb39b2b574dc38d8d93d31','','2026-11-22 22:35:23.489','2026-11-22 22:35:23.489','');
INSERT INTO tools VALUES('01a20566-59d2-7e16-b4de-df43268dfbb9','convert_time',1,'{"name":"convert_time","title":"Convert time","description":"Converts a date and time from one time zone to another, daylight saving included.","inputSchema":{"type":"object","properties":{"time":{"type":"string","description":"Local date and time in the zone from, as 2026-03-29T14:30 with optional seconds."},"from":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."},"to":{"type":"string","description":"IANA time zone, for example Asia/Tokyo or UTC."}},"required":["time","from","to"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"from":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]},"to":{"type":"object","properties":{"time":{"type":"string","format":"date-time"},"zone":{"type":"string"},"abbreviation":{"type":"string"},"utcOffset":{"type":"string"},"weekday":{"type":"string"},"unix":{"type":"integer"}},"required":["time","zone","abbreviation","utcOffset","weekday","unix"]}},"required":["from","to"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','ef25b849972afec6e643aa6e8daa6024721f7dc49fa27ee267cedec45ff41f62','','2026-11-22 22:35:23.489','2026-11-22 22:35:23.489','');
INSERT INTO tools VALUES('01a20566-59d2-7e16-b4de-df43268dfbb9','days_between',2,'{"name":"days_between","title":"Days between dates","description":"Counts the days from one date to another, and how many of them are working days (Monday to Friday). Negative when the end lies before the start.","inputSchema":{"type":"object","properties":{"start":{"type":"string","format":"date"},"end":{"type":"string","format":"date"}},"required":["start","end"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"days":{"type":"integer"},"workingDays":{"type":"integer"},"weeks":{"type":"number"}},"required":["days","workingDays","weeks"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','68ee3dbb6663c0bab17107c6307353cbd4933a48e41b00165dd56ff81ae4a1f0','','2026-11-22 22:35:23.489','2026-11-22 22:35:23.489','');
INSERT INTO tools VALUES('01a20566-59d2-7e16-b4de-df43268dfbb9','add_to_date',3,'{"name":"add_to_date","title":"Add to a date","description":"Adds years, months, weeks and days to a date; negative numbers subtract. A day that the month does not have becomes its last day.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"years":{"type":"integer"},"months":{"type":"integer"},"weeks":{"type":"integer"},"days":{"type":"integer"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"},"weekday":{"type":"string"}},"required":["date","weekday"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','789c79b228f804c119c3c42f1c47b34831c3da6350a8710373228b0eba216501','','2026-11-22 22:35:23.489','2026-11-22 22:35:23.489','');
INSERT INTO tools VALUES('01a20566-59d2-7e16-b4de-df43268dfbb9','calendar_info',4,'{"name":"calendar_info","title":"Calendar information","description":"Tells weekday, ISO week, day of the year, quarter and leap year of a date.","inputSchema":{"type":"object","properties":{"date":{"type":"string","format":"date"}},"required":["date"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"weekday":{"type":"string"},"isoWeek":{"type":"string"},"dayOfYear":{"type":"integer"},"quarter":{"type":"integer"},"leapYear":{"type":"boolean"},"daysInMonth":{"type":"integer"}},"required":["weekday","isoWeek","dayOfYear","quarter","leapYear","daysInMonth"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}','6e0c5a195e160a72efd2850c4f4fdc088f6803b88c95f4d5181c900be1319356','','2026-11-22 22:35:23.489','2026-11-22 22:35:23.489','');
CREATE TABLE keys (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text NOT NULL,
    hash blob NOT NULL UNIQUE,
    prefix text NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime,
    last_used_at datetime,
    revoked_at datetime
, lifetime_ms integer NOT NULL DEFAULT 0);
INSERT INTO keys VALUES('01a20566-5a98-7d23-99a4-1a0b1698c4f0','01a20566-59d2-7876-b462-0fd6aa495ef3','fixture',X'1edadc290ea0d1b05abff0ae97e71742f4714e5e31da4f355324d9879b1a4934','gwk_oqfn','2026-11-22 22:35:23.672',NULL,'2026-11-22 22:35:24.000',NULL,0);
CREATE TABLE revisions (
    topic text PRIMARY KEY,
    revision integer NOT NULL
);
INSERT INTO revisions VALUES('toolset:01a20566-583b-75bf-a54d-aa18c1dfb225',3);
INSERT INTO revisions VALUES('toolset:01a20566-59d2-7876-b462-0fd6aa495ef3',2);
INSERT INTO revisions VALUES('keys:01a20566-59d2-7876-b462-0fd6aa495ef3',1);
INSERT INTO revisions VALUES('people',2);
INSERT INTO revisions VALUES('catalog',2);
CREATE TABLE ended_sessions (
    hash blob PRIMARY KEY,
    expires_at datetime NOT NULL
);
CREATE TABLE listings (
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('prompt', 'resource', 'template')),
    ident text NOT NULL,
    position integer NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY (server_id, kind, ident)
);
CREATE TABLE audit_entries (
    seq integer PRIMARY KEY,
    at datetime NOT NULL,
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
    prev_hash blob NOT NULL,
    hash blob NOT NULL
, key_id text NOT NULL DEFAULT '', mac blob NOT NULL DEFAULT x'');
INSERT INTO audit_entries VALUES(1,'2026-11-22 22:35:23.069','system','','','','','project.created','demo','01a20566-583b-75bf-a54d-aa18c1dfb225','demo','{}',X'',X'27646f97b688395272a9ae23c2d287841585720a997eaeda0d780990156a33b5','fixture',X'b0c902102e0fcc22471703ea64d91f5d9b015affb2cd5536347c496a89e43616');
INSERT INTO audit_entries VALUES(2,'2026-11-22 22:35:23.069','system','','','','','server.created','clock','01a20566-583c-72e7-be6b-989c28cdfd9b','demo','{}',X'27646f97b688395272a9ae23c2d287841585720a997eaeda0d780990156a33b5',X'561d0689aa1cdec050c741c8a8491226d74061fa559ad0abd0e8fa14608d68df','fixture',X'ae695f1f0f5f1ab827d787559e8fde6c4f66243ea2150342099a32bce0ff2b7d');
INSERT INTO audit_entries VALUES(3,'2026-11-22 22:35:23.069','system','','','','','server.created','text','01a20566-583c-7879-a20f-ca6ec82e7478','demo','{}',X'561d0689aa1cdec050c741c8a8491226d74061fa559ad0abd0e8fa14608d68df',X'9cc160aea46bce778904fc63b6eb7bfb1507fcf9eb72719dc112b8cc6db2d209','fixture',X'59a597db362ab66d9a325ce4ee06cf60c9b5f87fab09bd69e92ac65f24a12f35');
INSERT INTO audit_entries VALUES(4,'2026-11-22 22:35:23.475','cli','0','root','','','project.created','work','01a20566-59d2-7876-b462-0fd6aa495ef3','work','{}',X'9cc160aea46bce778904fc63b6eb7bfb1507fcf9eb72719dc112b8cc6db2d209',X'e32866e125129960eecf74298c3f47dccb35b533592fd9021a6b353079d73993','fixture',X'0666b8c290c70a0dcb55a89267039487a4e43eeb9233eaa945c5edf2c7284e8d');
INSERT INTO audit_entries VALUES(5,'2026-11-22 22:35:23.475','cli','0','root','','','server.created','clock','01a20566-59d2-7e16-b4de-df43268dfbb9','work','{}',X'e32866e125129960eecf74298c3f47dccb35b533592fd9021a6b353079d73993',X'47ec8e19859e5d381784d057421a236dd359485b672c7655288f115214e5cf2b','fixture',X'6d3ec458ea5c9a8c56f114df6d5b749e8d20f1a735fd53745ab5b29281607520');
INSERT INTO audit_entries VALUES(6,'2026-11-22 22:35:23.673','cli','0','root','','','key.created','fixture','01a20566-5a98-7d23-99a4-1a0b1698c4f0','work','{}',X'47ec8e19859e5d381784d057421a236dd359485b672c7655288f115214e5cf2b',X'2ced91eb05a4e9fe3fe61002a0f038e0074d667b0de142ee8837552b130f35ae','fixture',X'a747cc4159412a76e79d107894019c7468455e744886dd9a5ed07dd477b0853a');
INSERT INTO audit_entries VALUES(7,'2026-11-22 22:35:25.204','cli','0','root','','','person.created','admin@example.com','01a20566-5e00-7542-bfb3-886fa5f9df0e','','{"role":"admin"}',X'2ced91eb05a4e9fe3fe61002a0f038e0074d667b0de142ee8837552b130f35ae',X'17f9686e9de1dd8732bf167cb618f3ddc48e9ac7ad1dbb6e02d464e07c5b045f','fixture',X'89fa8f4161e15a95dcdf9dcc2afcc3ef39d498596f84450d76fd949baee983d9');
INSERT INTO audit_entries VALUES(8,'2026-11-22 22:35:25.484','token','','administration token','127.0.0.1','ab2dd031-8a16-44f6-8e89-f9091f2c8cbd','person.created','viewer@example.com','01a20566-61ac-706f-a734-1991448176c4','','{"role":"viewer"}',X'17f9686e9de1dd8732bf167cb618f3ddc48e9ac7ad1dbb6e02d464e07c5b045f',X'fde54dc48bd7c92285f9fa4e343a5c6d2a1259a08d8e03cc01d20d57d3499ae5','fixture',X'5764d50b6619da640c8509a8269c10cf12164c893b3e87e1bb96ae5c6e0d9c6d');
INSERT INTO audit_entries VALUES(9,'2026-11-22 22:35:27.211','cli','0','root','','','catalog.imported','Files','file','','{"added":"1","deleted":"0","updated":"0","url":""}',X'fde54dc48bd7c92285f9fa4e343a5c6d2a1259a08d8e03cc01d20d57d3499ae5',X'3eeed6b40cc493c228ea4d83a8a99de77fb3567c875b5a67aaf65303f12d1ddb','fixture',X'a4af1cf44384eb679b4a25cf983664e652d22775273dfb132cc02856d189fcb1');
CREATE TABLE audit_heads (
    id integer PRIMARY KEY,
    seq integer NOT NULL,
    hash blob NOT NULL
, key_id text NOT NULL DEFAULT '', mac blob NOT NULL DEFAULT x'');
INSERT INTO audit_heads VALUES(1,9,X'3eeed6b40cc493c228ea4d83a8a99de77fb3567c875b5a67aaf65303f12d1ddb','fixture',X'927082530a81a46e1597a21d448e7a52227737a90fc9cb0e96b8182ca39f50aa');
CREATE TABLE catalog_sources (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('official', 'file')),
    name text NOT NULL,
    url text NOT NULL,
    enabled boolean NOT NULL,
    content_hash text NOT NULL,
    high_water datetime,
    started_at datetime,
    finished_at datetime,
    succeeded boolean NOT NULL,
    error_code text NOT NULL,
    error_message text NOT NULL,
    fetched integer NOT NULL,
    added integer NOT NULL,
    updated integer NOT NULL,
    deleted integer NOT NULL,
    created_at datetime NOT NULL
);
INSERT INTO catalog_sources VALUES('default','file','Built-in','',1,'1ded26ea14061e4270da0ca998f9e2fdf524a6ab3e98e256d0a2546285ab9eff',NULL,NULL,'2026-11-22 22:35:26.830',1,'','',519,519,0,0,'2026-01-01 00:00:00.000');
INSERT INTO catalog_sources VALUES('file','file','Files','',1,'',NULL,NULL,'2026-11-22 22:35:27.204',1,'','',1,1,0,0,'2026-01-01 00:00:00.000');
CREATE TABLE catalog_entries (
    id text PRIMARY KEY,
    source_id text NOT NULL REFERENCES catalog_sources (id) ON DELETE CASCADE,
    version text NOT NULL,
    publisher_name text NOT NULL,
    publisher_title text NOT NULL,
    server_name text NOT NULL,
    server_title text NOT NULL,
    server_type text NOT NULL CHECK (server_type IN ('http', 'sse', 'stdio')),
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
    auth_type text NOT NULL CHECK (auth_type IN ('none', 'bearer', 'header', 'oauth', 'unknown')),
    auth_header text NOT NULL,
    dynamic_registration boolean,
    package_type text NOT NULL,
    package_identifier text NOT NULL,
    secret_env text NOT NULL,
    tool_names text NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
    hidden boolean NOT NULL,
    locked boolean NOT NULL,
    content_hash text NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL,
    document text NOT NULL
);
INSERT INTO catalog_entries VALUES('41006543-6078-5e37-afa9-42cbc0ded851','file','1.0.0','acme','acme','orders','Orders of the fixture','http','[]',0,'','',0,'','','','','','','https://mcp.example.com/orders','','unknown','',NULL,'','','[]','[]','active',0,0,'ff21afb7c00a3d7dd90da61d1962d803','2026-11-22 22:35:27.026','2026-11-22 22:35:27.026','');
CREATE TABLE catalog_templates (
    id text PRIMARY KEY,
    source_id text NOT NULL REFERENCES catalog_sources (id) ON DELETE CASCADE,
    slug text NOT NULL UNIQUE,
    title text NOT NULL,
    description text NOT NULL,
    role text NOT NULL,
    category text NOT NULL,
    difficulty text NOT NULL CHECK (difficulty IN ('beginner', 'intermediate', 'advanced')),
    estimated_setup_minutes integer NOT NULL,
    tags text NOT NULL,
    related_server_names text NOT NULL,
    steps text NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
    hidden boolean NOT NULL,
    locked boolean NOT NULL,
    content_hash text NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL
);
CREATE TABLE users (
    id text PRIMARY KEY,
    email text NOT NULL,
    email_fold text NOT NULL UNIQUE,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('admin', 'viewer', 'member')),
    password_hash text NOT NULL,
    oidc_issuer text NOT NULL,
    oidc_subject text NOT NULL,
    disabled_at datetime,
    created_at datetime NOT NULL,
    last_login_at datetime
);
INSERT INTO users VALUES('01a20566-5e00-7542-bfb3-886fa5f9df0e','admin@example.com','admin@example.com','admin','admin','$argon2id$v=19$m=19456,t=2,p=1$Jw2FwvcHcuJPECtqNeBVYQ$YGrQtLOGJjc/LhekKY5ZxyygIXErXPhjkx1ljANnATI','','',NULL,'2026-11-22 22:35:24.544',NULL);
INSERT INTO users VALUES('01a20566-61ac-706f-a734-1991448176c4','viewer@example.com','viewer@example.com','viewer','viewer','','','',NULL,'2026-11-22 22:35:25.484',NULL);
CREATE TABLE browser_sessions (
    hash blob PRIMARY KEY,
    id text NOT NULL UNIQUE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at datetime NOT NULL,
    last_seen_at datetime NOT NULL,
    authenticated_at datetime NOT NULL,
    ip text NOT NULL,
    user_agent text NOT NULL,
    revoked_at datetime
, confirmed_at datetime, csrf text NOT NULL DEFAULT '');
CREATE TABLE project_members (
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at datetime NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE TABLE setups (
    id integer PRIMARY KEY CHECK (id = 1),
    user_id text NOT NULL,
    completed_at datetime NOT NULL
);
INSERT INTO setups VALUES(1,'01a20566-5e00-7542-bfb3-886fa5f9df0e','2026-11-22 22:35:24.544');
CREATE TABLE setup_tokens (
    hash blob PRIMARY KEY,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL
);
CREATE TABLE login_limits (
    subject text PRIMARY KEY,
    started_at datetime NOT NULL,
    attempts integer NOT NULL
);
CREATE TABLE spent_sign_ins (
    hash blob PRIMARY KEY,
    expires_at datetime NOT NULL
);
CREATE TABLE oauth_clients (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('dcr', 'cimd')),
    name text NOT NULL,
    redirect_uris text NOT NULL,
    auth_method text NOT NULL,
    secret_hash blob NOT NULL,
    created_at datetime NOT NULL,
    fresh_until datetime,
    last_used_at datetime
);
CREATE TABLE oauth_codes (
    hash blob PRIMARY KEY,
    grant_id text NOT NULL,
    client_id text NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    redirect_uri text NOT NULL,
    redirect_name text NOT NULL,
    challenge text NOT NULL,
    scopes text NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    used_at datetime
);
CREATE TABLE oauth_grants (
    id text PRIMARY KEY,
    client_id text NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    scopes text NOT NULL,
    redirect_name text NOT NULL,
    created_at datetime NOT NULL,
    last_used_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    revoked_at datetime
);
CREATE TABLE oauth_tokens (
    hash blob PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('access', 'refresh')),
    grant_id text NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    scopes text NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    used_at datetime
);
CREATE TABLE oauth_limits (
    subject text PRIMARY KEY,
    started_at datetime NOT NULL,
    uses integer NOT NULL
);
CREATE TABLE connections (
    server_id text PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
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
    issued_at datetime,
    expires_at datetime,
    refresh_at datetime,
    forced_at datetime,
    failures integer NOT NULL,
    next_attempt_at datetime,
    error_code text NOT NULL,
    error_text text NOT NULL,
    error_at datetime,
    connected_at datetime,
    connected_by text NOT NULL,
    refreshed_at datetime,
    version integer NOT NULL,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL
);
CREATE TABLE connection_registrations (
    id text PRIMARY KEY,
    issuer text NOT NULL,
    redirect_uri text NOT NULL,
    client_id text NOT NULL,
    client_secret text NOT NULL,
    auth_method text NOT NULL,
    secret_expires_at datetime,
    retired_at datetime,
    created_at datetime NOT NULL
);
CREATE TABLE connection_flows (
    state_hash blob PRIMARY KEY,
    server_id text NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
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
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    consumed_at datetime
);
CREATE TABLE connection_leases (
    server_id text PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    owner text NOT NULL,
    until datetime NOT NULL
);
CREATE TABLE code_runs (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    at datetime NOT NULL,
    principal text NOT NULL,
    code text NOT NULL,
    input text NOT NULL,
    input_cut boolean NOT NULL,
    outcome text NOT NULL,
    ok boolean NOT NULL,
    phase text NOT NULL,
    calls integer NOT NULL,
    duration_ms integer NOT NULL,
    timeout_ms integer NOT NULL,
    dry_run boolean NOT NULL,
    seed_at datetime NOT NULL,
    seed_random integer NOT NULL
);
CREATE TABLE session_resources (
    session text NOT NULL,
    uri_hash blob NOT NULL,
    uri text NOT NULL,
    project_id text NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime NOT NULL,
    PRIMARY KEY (session, uri_hash)
);
CREATE TABLE calls (
    id text PRIMARY KEY,
    at datetime NOT NULL,
    project_id text NOT NULL,
    principal text NOT NULL,
    tool text NOT NULL,
    server text NOT NULL,
    duration_us integer NOT NULL,
    request_bytes integer NOT NULL,
    response_bytes integer NOT NULL,
    outcome text NOT NULL,
    code text NOT NULL,
    request_id text NOT NULL
);
INSERT INTO calls VALUES('01a20566-6097-7dd8-b648-07b7fb2977ee','2026-11-22 22:35:24.224','01a20566-59d2-7876-b462-0fd6aa495ef3','key:01a20566-5a98-7d23-99a4-1a0b1698c4f0','clock__current_time','clock',3893,67,464,'ok','','2632a975-5295-4387-accf-b3d80b4cc1a1');
INSERT INTO calls VALUES('01a20566-6097-7dd9-a53d-294746e5893a','2026-11-22 22:35:24.367','01a20566-583b-75bf-a54d-aa18c1dfb225','anonymous','clock__current_time','clock',343,67,464,'ok','','1ba31b64-6be4-4b20-89c4-f09890477d2a');
CREATE TABLE call_payloads (
    call_id text PRIMARY KEY,
    project_id text NOT NULL,
    at datetime NOT NULL,
    arguments text NOT NULL,
    arguments_cut boolean NOT NULL,
    answer text NOT NULL,
    answer_cut boolean NOT NULL
);
CREATE TABLE inventory_changes (
    server_id text NOT NULL PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    project_id text NOT NULL,
    revision integer NOT NULL
);
INSERT INTO inventory_changes VALUES('01a20566-583c-72e7-be6b-989c28cdfd9b','01a20566-583b-75bf-a54d-aa18c1dfb225',2);
INSERT INTO inventory_changes VALUES('01a20566-583c-7879-a20f-ca6ec82e7478','01a20566-583b-75bf-a54d-aa18c1dfb225',3);
INSERT INTO inventory_changes VALUES('01a20566-59d2-7e16-b4de-df43268dfbb9','01a20566-59d2-7876-b462-0fd6aa495ef3',2);
CREATE TABLE session_levels (
    session text NOT NULL PRIMARY KEY,
    level text NOT NULL,
    expires_at datetime NOT NULL
);
CREATE TABLE kept_forms (
    hash blob PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    session_id text NOT NULL,
    expires_at datetime NOT NULL,
    sealed text NOT NULL
);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('goose_db_version',22);
CREATE INDEX keys_project ON keys (project_id);
CREATE INDEX ended_sessions_expiry ON ended_sessions (expires_at);
CREATE INDEX audit_entries_action ON audit_entries (action, seq);
CREATE INDEX audit_entries_project ON audit_entries (project, seq);
CREATE UNIQUE INDEX catalog_sources_url ON catalog_sources (url) WHERE url <> '';
CREATE UNIQUE INDEX catalog_entries_name ON catalog_entries (publisher_name, server_name);
CREATE INDEX catalog_entries_source ON catalog_entries (source_id);
CREATE INDEX catalog_templates_source ON catalog_templates (source_id);
CREATE UNIQUE INDEX users_identity ON users (oidc_issuer, oidc_subject) WHERE oidc_subject <> '';
CREATE INDEX browser_sessions_user ON browser_sessions (user_id, created_at);
CREATE INDEX project_members_user ON project_members (user_id);
CREATE INDEX oauth_clients_used ON oauth_clients (last_used_at, created_at);
CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);
CREATE INDEX oauth_codes_client ON oauth_codes (client_id);
CREATE INDEX oauth_codes_user ON oauth_codes (user_id);
CREATE INDEX oauth_codes_project ON oauth_codes (project_id);
CREATE INDEX oauth_grants_user ON oauth_grants (user_id, created_at);
CREATE INDEX oauth_grants_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_project ON oauth_grants (project_id);
CREATE INDEX oauth_tokens_grant ON oauth_tokens (grant_id, kind, created_at);
CREATE INDEX oauth_tokens_expiry ON oauth_tokens (expires_at);
CREATE INDEX connections_refresh ON connections (refresh_at);
CREATE UNIQUE INDEX connection_registrations_held ON connection_registrations (issuer, redirect_uri) WHERE retired_at IS NULL;
CREATE INDEX connection_flows_server ON connection_flows (server_id);
CREATE INDEX connection_flows_expiry ON connection_flows (expires_at);
CREATE INDEX code_runs_project ON code_runs (project_id, id);
CREATE INDEX session_resources_expiry ON session_resources (expires_at);
CREATE INDEX calls_project ON calls (project_id, id);
CREATE INDEX call_payloads_age ON call_payloads (at);
CREATE INDEX call_payloads_project ON call_payloads (project_id);
CREATE INDEX inventory_changes_later ON inventory_changes (project_id, revision);
CREATE INDEX session_levels_expiry ON session_levels (expires_at);
CREATE INDEX kept_forms_user ON kept_forms (user_id, expires_at);
COMMIT;
