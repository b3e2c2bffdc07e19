package oauthserver_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
)

func TestCodeReplay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		code := w.code(t, "bob", client)
		other := w.grant(t, "bob", client)
		tokens, err := w.exchange(t.Context(), client, code)
		if err != nil || !w.opens(t, tokens.Access, "oa") {
			t.Fatalf("first use: %v", err)
		}
		renewed, err := w.refresh(t.Context(), client, tokens.Refresh.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.exchange(t.Context(), client, code)
		refused(t, err, oauthserver.InvalidGrant)
		if w.opens(t, tokens.Access, "oa") || w.opens(t, renewed.Access, "oa") {
			t.Error("access token valid after the second use of its code")
		}
		for _, token := range []oauthserver.Tokens{tokens, renewed} {
			_, err = w.refresh(t.Context(), client, token.Refresh.Reveal())
			refused(t, err, oauthserver.InvalidGrant)
		}
		if !w.opens(t, other.Access, "oa") {
			t.Error("other grant of the same user and client revoked")
		}
		if _, err = w.exchange(t.Context(), client, code); err == nil {
			t.Error("third use succeeded")
		}
		if d := cmp.Diff([]string{"client.registered", "oauth.consented", "oauth.consented", "oauth.code_replayed"}, w.actions(t)); d != "" {
			t.Errorf("audit (-want +got):\n%s", d)
		}
		// Concurrent uses: one succeeds, and its tokens are revoked.
		code = w.code(t, "bob", client)
		results := make(chan oauthserver.Tokens, 8)
		for range cap(results) {
			go func() {
				tokens, _ := w.exchange(t.Context(), client, code) // most are rejected
				results <- tokens
			}()
		}
		won := 0
		for range cap(results) {
			if tokens := <-results; !tokens.Access.IsZero() {
				won++
				defer func() {
					if w.opens(t, tokens.Access, "oa") {
						t.Error("tokens of a concurrently used code are valid")
					}
				}()
			}
		}
		if won != 1 {
			t.Errorf("%d concurrent uses succeeded", won)
		}
	})
}

func otherLetter(letter byte) string {
	if letter == 'x' {
		return "y"
	}
	return "x"
}

func TestCodeBinding(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		stranger := w.register(t, "http://127.0.0.1/other")
		code := w.code(t, "bob", client)
		for name, tc := range map[string]struct {
			client  string
			changes []string
			want    oauthserver.ErrorCode
		}{
			"other client":      {stranger, nil, oauthserver.InvalidGrant},
			"unknown client":    {"gwc_unknown", nil, oauthserver.InvalidClient},
			"other redirect":    {client, []string{"redirect_uri", "http://127.0.0.1:4712/callback"}, oauthserver.InvalidGrant},
			"other project":     {client, []string{"resource", issuer + "/v1/mcp/ob/request"}, oauthserver.InvalidTarget},
			"other host":        {client, []string{"resource", "https://other.example/v1/mcp/oa/request"}, oauthserver.InvalidTarget},
			"other verifier":    {client, []string{"code_verifier", strings.Repeat("v", 43)}, oauthserver.InvalidGrant},
			"access token":      {client, []string{"code", "gwat_" + code[5:]}, oauthserver.InvalidGrant},
			"changed character": {client, []string{"code", code[:10] + otherLetter(code[10]) + code[11:]}, oauthserver.InvalidGrant},
			"no code":           {client, []string{"code", ""}, oauthserver.InvalidGrant},
			"no client":         {"", nil, oauthserver.InvalidClient},
			"unexpected secret": {client, []string{"client_secret", "x"}, oauthserver.InvalidClient},
			"no grant type":     {client, []string{"grant_type", ""}, oauthserver.InvalidRequest},
			"password":          {client, []string{"grant_type", "password"}, oauthserver.UnsupportedGrantType},
		} {
			_, err := w.exchange(t.Context(), tc.client, code, tc.changes...)
			t.Run(name, func(t *testing.T) { refused(t, err, tc.want) })
		}
		w.Advance(oauthserver.CodeLife - 1)
		tokens, err := w.exchange(t.Context(), client, code, "redirect_uri", "")
		if err != nil || tokens.Scopes != "mcp:read mcp:call" || tokens.Expires != oauthserver.AccessLife {
			t.Errorf("code after rejected uses: %+v, %v", tokens, err)
		}
		late := w.code(t, "bob", client)
		w.Advance(oauthserver.CodeLife)
		_, err = w.exchange(t.Context(), client, late)
		refused(t, err, oauthserver.InvalidGrant)
		disabled := w.code(t, "cy", client)
		if err := w.db.Model(&models.User{}).Where("id = ?", "cy").Update("disabled_at", w.Now()).Error; err != nil {
			t.Fatal(err)
		}
		_, err = w.exchange(t.Context(), client, disabled)
		refused(t, err, oauthserver.InvalidGrant)
	})
}

func TestScopes(t *testing.T) {
	w := onSQLite(t)
	client := w.register(t)
	for scope, want := range map[string]string{
		"":                            "mcp:read mcp:call",
		"mcp:read":                    "mcp:read",
		"mcp:call":                    "mcp:call",
		"mcp:call  mcp:read mcp:read": "mcp:read mcp:call",
		"offline_access":              "mcp:read mcp:call offline_access",
		"mcp:read offline_access":     "mcp:read offline_access",
		"openid mcp:read profile":     "mcp:read",
		"openid":                      "",
		"openid offline_access":       "",
		"mcp:admin":                   "",
		"MCP:READ":                    "",
		"mcp:read\x00":                "",
		"mcp:read " + long(512-9):     "mcp:read",
		"mcp:read " + long(512-9+1):   "",
	} {
		authorized, err := w.Authorize(t.Context(), query(client, "scope", scope), person("bob"))
		if want == "" {
			denied(t, err, oauthserver.InvalidScope, "st")
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", scope, err)
			continue
		}
		if tokens := w.grant(t, "bob", client, "scope", scope); tokens.Scopes != want {
			t.Errorf("%q: granted %q, want %q", scope, tokens.Scopes, want)
		}
		if got := strings.Join(authorized.Scopes, " "); got != strings.TrimSuffix(want, " offline_access") {
			t.Errorf("%q: consent page shows %q", scope, got)
		}
	}
	tokens := w.grant(t, "bob", client)
	narrow, err := w.refresh(t.Context(), client, tokens.Refresh.Reveal(), "scope", "mcp:read")
	if err != nil || narrow.Scopes != "mcp:read" {
		t.Fatalf("narrowed scopes = %q, %v", narrow.Scopes, err)
	}
	wide, err := w.refresh(t.Context(), client, narrow.Refresh.Reveal())
	if err != nil || wide.Scopes != "mcp:read mcp:call" {
		t.Errorf("scopes of the grant = %q, %v", wide.Scopes, err)
	}
	small := w.grant(t, "bob", client, "scope", "mcp:read")
	_, err = w.refresh(t.Context(), client, small.Refresh.Reveal(), "scope", "mcp:read mcp:call")
	refused(t, err, oauthserver.InvalidScope)
	if _, err = w.refresh(t.Context(), client, small.Refresh.Reveal()); err != nil {
		t.Errorf("token after a rejected refresh: %v", err)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestGrantsPerUserAreLimited(t *testing.T) {
	w := onSQLite(t)
	client := w.register(t)
	rows := make([]models.OAuthGrant, oauthserver.MaxGrants-1)
	for i := range rows {
		rows[i] = models.OAuthGrant{
			ID: "g" + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)), ClientID: client, UserID: "bob", ProjectID: "id-oa", Scopes: "mcp:read",
			CreatedAt: w.Now(), LastUsedAt: w.Now(), ExpiresAt: w.Now().Add(oauthserver.GrantLife),
		}
	}
	w.create(t, &rows)
	w.grant(t, "bob", client) // the last one allowed
	consent, err := w.Authorize(t.Context(), query(client), person("bob"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Decide(t.Context(), *person("bob"), consent.Sealed, "", true)
	failed(t, err, fault.CodeConflict)
	w.grant(t, "cy", client)
	if err := w.RevokeGrant(t.Context(), "bob", "g000"); err != nil {
		t.Fatal(err)
	}
	w.grant(t, "bob", client)
}
