package routes_test

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
)

// oldTime is the time of the rows in an old database.
func oldTime() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC) }

// kept has the computed values of an old database: hashes, encrypted secrets
// and the chain of the audit log.
type kept struct {
	key, bearer, token, cookie string // plaintexts
	invite, reset              string // tokens of links
	keyHash                    []byte
	inviteHash, resetHash      []byte
	sealedBearer, sealedToken  string
	artifact, sealedArtifact   string
	passwordHash               string
	session                    models.BrowserSession
	audit                      []models.AuditEntry
	head                       models.AuditHead
}

// keep uses the product to create the computed values for the rows below:
// server s1 of project p1, user u1.
func keep(t *testing.T) kept {
	t.Helper()
	a := routestest.New(t, modelstest.SQLite(t))
	a.Apply(t, `{"projects":{"first":{}}}`)
	k := kept{bearer: "the bearer", token: "the refresh token", artifact: "the stored value"}
	invite, inviteHash := secrets.Random()
	reset, resetHash := secrets.Random()
	k.invite, k.inviteHash, k.reset, k.resetHash = invite.Reveal(), inviteHash, reset.Reveal(), resetHash
	_, k.key = a.Key(t, "first", 0)
	_, err := a.Services.People.Create(t.Context(), access.NewUser{Email: "old@example.com", Role: models.RoleAdmin, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	in, err := a.Services.People.SignIn(t.Context(), "old@example.com", secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	k.cookie = in.Cookie.Reveal()
	var key models.Key
	var person models.User
	db := a.Services.DB
	for _, err := range []error{db.First(&key).Error, db.First(&person).Error, db.First(&k.session).Error, db.Order("seq").Find(&k.audit).Error, db.First(&k.head).Error} {
		if err != nil {
			t.Fatal(err)
		}
	}
	k.keyHash, k.passwordHash = key.Hash, person.PasswordHash
	for _, s := range []struct {
		text, row string
		sealed    *string
	}{{k.bearer, projects.BearerRow("s1"), &k.sealedBearer}, {k.token, accounts.ID{ServerID: "s1"}.RefreshTokenRow(), &k.sealedToken}, {k.artifact, artifactRow("p1", "key:k1", "note"), &k.sealedArtifact}} {
		if *s.sealed, err = a.Services.Config.Keys.Seal(secrets.NewValue(s.text), s.row); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// artifactRow returns the row to which the content of a text is sealed.
func artifactRow(project, principal, name string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + principal + "\x00" + name))
	return "artifacts/text/" + hex.EncodeToString(sum[:])
}

// blob is a column of bytes. GORM would expand a []byte to a list.
type blob []byte

// Value implements driver.Valuer.
func (b blob) Value() (driver.Value, error) { return append([]byte{}, b...), nil }

// oldRow is a row in the schema of an old version.
type oldRow struct {
	since     int64 // first version of the schema with all of its columns
	statement string
	values    []any
}

// oldRows returns at least one row for each kind of stored data. No row has a
// column that was added after its table, so that later migrations must fill
// such columns.
func oldRows(k kept) []oldRow {
	at, later := oldTime(), time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	rows := []oldRow{
		{1, `INSERT INTO projects (id, slug, name, description, auth_mode, code_mode_enabled, code_mode_timeout_ms, code_mode_allow_fetch, tool_exposure, tool_name_limit, disabled_tools, rate_per_second, rate_burst, created_at, updated_at)
			VALUES ('p1', 'work', 'Work', 'äöü', 'api_key', true, 12000, false, 'full', 0, '["up__off"]', 2.5, 7, ?, ?)`, []any{at, at}},
		{1, `INSERT INTO servers (id, project_id, alias, alias_fold, url, transport, auth_type, auth_bearer, headers, allowed_tools, deny_tools, enabled, timeout_ms, session_mode, definition_policy, o_auth_client_id, o_auth_client_secret, o_auth_scopes, config_version, created_at, updated_at)
			VALUES ('s1', 'p1', 'up', 'up', 'http://127.0.0.1:1/mcp', 'auto', 'bearer', ?, '{}', '[]', '["no_*"]', true, 60000, 'shared', 'follow', '', '', '[]', 1, ?, ?)`, []any{k.sealedBearer, at, at}},
		{1, `INSERT INTO inventories (server_id, synced_at, attempted_at, error_code, error_message, warnings, protocol_version, transport_used, server_info, capabilities, instructions)
			VALUES ('s1', ?, ?, '', '', '[]', '2025-11-25', 'streamable-http', '{"name":"old","version":"1"}', '{"tools":{}}', 'Be old.')`, []any{at, at}},
		{1, `INSERT INTO keys (id, project_id, name, hash, prefix, created_at, expires_at, last_used_at, revoked_at) VALUES ('k1', 'p1', 'old key', ?, 'gwk_old', ?, NULL, ?, NULL)`, []any{blob(k.keyHash), at, at}},
		{1, `INSERT INTO revisions (topic, revision) VALUES ('toolset:p1', 41)`, nil},
		{2, `INSERT INTO ended_sessions (hash, expires_at) VALUES (?, ?)`, []any{blob(make([]byte, 32)), time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)}},
		{3, `INSERT INTO listings (server_id, kind, ident, position, definition) VALUES ('s1', 'prompt', 'greet', 0, '{"name":"greet"}')`, nil},
		{5, `INSERT INTO catalog_entries (id, source_id, version, publisher_name, publisher_title, server_name, server_title, server_type, tags, verified, verified_evidence, verified_by, featured, featured_by, icon_url, repo_url, docs_url, website_url, description,
				remote_url, alt_remote_url, auth_type, auth_header, package_type, package_identifier, secret_env, tool_names, status, hidden, locked, content_hash, created_at, updated_at, document)
			VALUES ('c1', 'file', '1.0.0', 'acme', 'Acme', 'anvils', 'Anvils', 'http', '["heavy"]', false, '', '', true, 'old@example.com', '', '', '', '', 'Falls down.', 'https://anvils.example/mcp', '', 'none', '', '', '', '[]', '[]', 'active', false, false, 'x', ?, ?, '')`, []any{at, at}},
		{6, `INSERT INTO users (id, email, email_fold, name, role, password_hash, oidc_issuer, oidc_subject, created_at) VALUES ('u1', 'old@example.com', 'old@example.com', 'Olga', 'admin', ?, '', '', ?)`, []any{k.passwordHash, at}},
		{6, `INSERT INTO browser_sessions (hash, id, user_id, created_at, last_seen_at, authenticated_at, ip, user_agent) VALUES (?, 'b1', 'u1', ?, ?, ?, '127.0.0.1', 'old')`,
			[]any{blob(k.session.Hash), k.session.CreatedAt, k.session.LastSeenAt, k.session.AuthenticatedAt}},
		{6, `INSERT INTO setups (id, user_id, completed_at) VALUES (1, 'u1', ?)`, []any{at}},
		{6, `INSERT INTO project_members (project_id, user_id, created_at) VALUES ('p1', 'u1', ?)`, []any{at}},
		{8, `INSERT INTO oauth_clients (id, kind, name, redirect_uris, auth_method, secret_hash, created_at) VALUES ('o1', 'dcr', 'Old client', '["http://127.0.0.1/cb"]', 'none', ?, ?)`, []any{blob{}, at}},
		{8, `INSERT INTO oauth_grants (id, client_id, user_id, project_id, scopes, redirect_name, created_at, last_used_at, expires_at) VALUES ('g1', 'o1', 'u1', 'p1', 'mcp:call', '127.0.0.1', ?, ?, ?)`, []any{at, time.Now().UTC().Truncate(time.Millisecond), time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)}},
		{9, `INSERT INTO connections (server_id, state, reason, server_url, issuer, resource, token_endpoint, revocation_endpoint, registration_kind, registration_id, client_id, auth_method, choice_reasons, scopes, scopes_needed, access_token, refresh_token, failures, error_code, error_text, connected_by, version, created_at, updated_at)
			VALUES ('s1', 'needs_person', 'revoked', 'http://127.0.0.1:1/mcp', 'https://issuer.example', '', '', '', 'dynamic', '', 'c', 'none', '[]', '[]', '[]', '', ?, 0, '', '', 'old@example.com', 1, ?, ?)`, []any{k.sealedToken, at, at}},
		{10, `INSERT INTO code_runs (id, project_id, at, principal, code, input, input_cut, outcome, ok, phase, calls, duration_ms, timeout_ms, dry_run, seed_at, seed_random) VALUES ('r1', 'p1', ?, 'key:k1', 'return "old code";', '', false, '{}', true, '', 0, 5, 30000, false, ?, 7)`, []any{at, at}},
		{12, `INSERT INTO calls (id, at, project_id, principal, tool, server, duration_us, request_bytes, response_bytes, outcome, code, request_id) VALUES ('a1', ?, 'p1', 'key:k1', 'up__echo', 'up', 1500, 10, 20, 'ok', '', 'old-request')`, []any{time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)}},
		{25, `INSERT INTO users (id, email, email_fold, name, role, password_hash, oidc_issuer, oidc_subject, created_at) VALUES ('u-invited', 'invited@example.com', 'invited@example.com', 'Ines', 'member', '', '', '', ?)`, []any{at}},
		{25, `INSERT INTO invites (hash, user_id, created_at, expires_at) VALUES (?, 'u-invited', ?, ?)`, []any{blob(k.inviteHash), at, later}},
		{38, `INSERT INTO destinations (id, name, kind, address, secret, former_secret, filter, active, position, delivered, failures, last_status, last_reply, created_at, updated_at) VALUES ('d1', 'Old', 'slack', '', '', '', '', false, 0, 0, 0, 0, '', ?, ?)`, []any{at, at}},
		{38, `INSERT INTO dead_letters (id, destination_id, seq, event_id, kind, project, at, audit, body, died_at, reason) VALUES ('l1', 'd1', 1, 'e1', 'server.down', 'work', ?, false, '{}', ?, 'HTTP 500')`, []any{at, at}},
		{38, `INSERT INTO outbox (id, kind, project, at, audit, body) VALUES ('e2', 'server.up', 'work', ?, false, '{}')`, []any{at}},
		{38, `INSERT INTO outbox_states (subject, state, at) VALUES ('server:s1', 'down', ?)`, []any{at}},
		{39, `INSERT INTO alert_rules (id, enabled, thresholds, updated_at) VALUES ('disk_low', false, '{"mebibytes":321}', ?)`, []any{at}},
		{39, `INSERT INTO alerts (id, rule, subject, project, object, detail, state, since, fired_at, mailed) VALUES ('w1', 'server_down', 's1', 'work', 'up', 'The old server is down.', 'firing', ?, ?, 'firing')`, []any{at, at}},
		{40, `INSERT INTO users (id, email, email_fold, name, role, password_hash, oidc_issuer, oidc_subject, created_at) VALUES ('u-reset', 'reset@example.com', 'reset@example.com', 'Rita', 'member', ?, '', '', ?)`, []any{k.passwordHash, at}},
		{40, `INSERT INTO invites (hash, user_id, purpose, created_at, expires_at) VALUES (?, 'u-reset', 'reset', ?, ?)`, []any{blob(k.resetHash), at, later}},
		{42, `INSERT INTO artifacts (project_id, principal, name, kind, bytes, created_at, expires_at, content) VALUES ('p1', 'key:k1', 'note', 'text', 16, ?, ?, ?)`, []any{at, later, k.sealedArtifact}},
		{43, `INSERT INTO recipes (id, project_id, name, description, input_schema, code, effect, version, created_at, updated_at) VALUES ('c1', 'p1', 'old_recipe', 'Old.', '{"type":"object"}', 'return 1;', 'read', 2, ?, ?)`, []any{at, at}},
		{43, `INSERT INTO recipe_versions (recipe_id, version, description, input_schema, code, effect, saved_by, saved_at) VALUES ('c1', 1, 'First.', '{"type":"object"}', 'return 0;', 'read', 'old@example.com', ?), ('c1', 2, 'Old.', '{"type":"object"}', 'return 1;', 'read', 'old@example.com', ?)`, []any{at, at}},
		{43, `INSERT INTO recipe_proposals (id, project_id, name, description, input_schema, code, effect, principal, created_at) VALUES ('c2', 'p1', 'proposed', 'Proposed.', '{"type":"object"}', 'return 2;', 'read', 'key:k1', ?)`, []any{at}},
		{44, `INSERT INTO usage_days (project_id, day, server, tool, principal, toolset, user_id, calls, failed, request_bytes, response_bytes) VALUES ('p1', '2026-03-01', 'up', 'up__echo', 'key:k1', '', '', 3, 1, 30, 60)`, nil},
		{44, `INSERT INTO refused_requests (id, at, project_id, method, endpoint, status, code, reason, client, address, request_id) VALUES ('r1', ?, 'p1', 'POST', 'request', 401, 'UNAUTHORIZED', 'Invalid credentials.', 'curl/8', '192.0.2.1', 'old-refused')`, []any{time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)}},
	}
	for i, name := range []string{"echo", "off", "no_way"} {
		rows = append(rows, oldRow{1, `INSERT INTO tools (server_id, name, position, definition, definition_hash, approved_hash, first_seen_at, changed_at) VALUES ('s1', ?, ?, ?, 'h', 'h', ?, ?)`,
			[]any{name, i, `{"name":"` + name + `","inputSchema":{"type":"object"}}`, at, at}})
	}
	for _, e := range k.audit {
		rows = append(rows, oldRow{4, `INSERT INTO audit_entries (seq, at, actor_kind, actor_id, actor_name, ip, request_id, action, object, object_id, project, detail, prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			[]any{e.Seq, e.At, e.ActorKind, e.ActorID, e.ActorName, e.IP, e.RequestID, e.Action, e.Object, e.ObjectID, e.Project, e.Detail, blob(e.PrevHash), blob(e.Hash)}})
	}
	return append(rows, oldRow{4, `UPDATE audit_heads SET seq = ?, hash = ?`, []any{k.head.Seq, blob(k.head.Hash)}})
}
