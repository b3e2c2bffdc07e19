package routes_test

import (
	"crypto/sha256"
	"encoding/base64"
	"hash/crc32"
	"strings"
	"time"
)

// Values of an authorization code of unusedRows.
const (
	unusedVerifier = "a-verifier-of-the-tests-with-more-than-43-characters"
	unusedCallback = "http://127.0.0.1/cb"
)

// secretOf returns a well-formed secret of an OAuth client that repeats a
// letter.
func secretOf(prefix, letter string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	text := prefix + strings.Repeat(letter, 43)
	tail := [6]byte{}
	for i, sum := len(tail)-1, crc32.ChecksumIEEE([]byte(text)); i >= 0; i, sum = i-1, sum/62 {
		tail[i] = digits[sum%62]
	}
	return text + string(tail[:])
}

func hashOf(text string) blob {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// unusedRows are rows of ann and of two projects for access tokens: team, of
// which she is a member, and open, for all users. She has tokens for both, and a
// code for team.
func unusedRows() []oldRow {
	at, later := oldTime(), time.Now().Add(24*time.Hour).UTC().Truncate(time.Millisecond)
	rows := []oldRow{
		{6, `INSERT INTO users (id, email, email_fold, name, role, password_hash, oidc_issuer, oidc_subject, created_at) VALUES ('u2', 'ann@example.com', 'ann@example.com', 'Ann', 'member', '', '', '', ?)`, []any{at}},
	}
	for _, p := range []struct{ id, slug, access, letter string }{{"p2", "team", "members", "t"}, {"p3", "open", "anyone", "o"}} {
		values := strings.NewReplacer("$id", p.id, "$slug", p.slug, "$access", p.access)
		for _, statement := range []string{
			`INSERT INTO projects (id, slug, name, description, auth_mode, oauth_access, code_mode_enabled, code_mode_timeout_ms, code_mode_allow_fetch, tool_exposure, tool_name_limit, disabled_tools, rate_per_second, rate_burst, created_at, updated_at)
				VALUES ('$id', '$slug', '$slug', '', 'oauth', '$access', false, 30000, false, 'full', 0, '[]', 0, 0, ?, ?)`,
			`INSERT INTO servers (id, project_id, alias, alias_fold, url, transport, auth_type, auth_bearer, headers, allowed_tools, deny_tools, enabled, timeout_ms, session_mode, definition_policy, o_auth_client_id, o_auth_client_secret, o_auth_scopes, config_version, created_at, updated_at)
				VALUES ('s$id', '$id', 'up', 'up', 'http://127.0.0.1:1/mcp', 'auto', 'none', '', '{}', '[]', '[]', true, 60000, 'shared', 'follow', '', '', '[]', 1, ?, ?)`,
		} {
			rows = append(rows, oldRow{8, values.Replace(statement), []any{at, at}})
		}
		rows = append(rows, oldRow{8, values.Replace(`INSERT INTO oauth_grants (id, client_id, user_id, project_id, scopes, redirect_name, created_at, last_used_at, expires_at) VALUES ('g$id', 'o1', 'u2', '$id', 'mcp:read mcp:call', '127.0.0.1', ?, ?, ?)`), []any{at, later, later}})
		for kind, prefix := range map[string]string{"access": "gwat_", "refresh": "gwrt_"} {
			rows = append(rows, oldRow{8, values.Replace(`INSERT INTO oauth_tokens (hash, kind, grant_id, scopes, created_at, expires_at) VALUES (?, '` + kind + `', 'g$id', 'mcp:read mcp:call', ?, ?)`),
				[]any{hashOf(secretOf(prefix, p.letter)), at, later}})
		}
	}
	challenge := sha256.Sum256([]byte(unusedVerifier))
	return append(rows,
		oldRow{6, `INSERT INTO project_members (project_id, user_id, created_at) VALUES ('p2', 'u2', ?)`, []any{at}},
		oldRow{8, `INSERT INTO oauth_codes (hash, grant_id, client_id, user_id, project_id, redirect_uri, redirect_name, challenge, scopes, created_at, expires_at) VALUES (?, 'g9', 'o1', 'u2', 'p2', '` + unusedCallback + `', '127.0.0.1', ?, 'mcp:read', ?, ?)`,
			[]any{hashOf(secretOf("gwac_", "c")), base64.RawURLEncoding.EncodeToString(challenge[:]), at, later}})
}
