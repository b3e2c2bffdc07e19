package access_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func TestAuthenticateByMode(t *testing.T) {
	w := accesstest.OnSQLite(t)
	id, key := w.Create(t, 0)
	for _, tc := range []struct {
		name   string
		mode   models.AuthMode
		header string
		want   string // ID of the principal; empty for UNAUTHORIZED
	}{
		{"none without header", models.AuthNone, "", "anonymous"},
		{"none with header", models.AuthNone, "Bearer nonsense", "anonymous"},
		{"api_key with the key", models.AuthAPIKey, "Bearer " + key, "key:" + id},
		{"scheme in mixed case", models.AuthAPIKey, "bEaReR " + key, "key:" + id},
		{"several spaces", models.AuthAPIKey, "Bearer   " + key, "key:" + id},
		{"api_key without a header", models.AuthAPIKey, "", ""},
		{"key with oauth", models.AuthOAuth, "Bearer " + key, ""},
		{"unknown mode", models.AuthMode("open"), "Bearer " + key, ""},
		{"empty mode", models.AuthMode(""), "Bearer " + key, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			principal, err := w.Auth.Authenticate(t.Context(), accesstest.Project("p", tc.mode), "", tc.header)
			if tc.want == "" {
				accesstest.Want(t, err, fault.CodeUnauthorized)
				if principal.IsValid() || principal.ID() != "" || principal.ProjectID() != "" {
					t.Errorf("rejected caller = %+v", principal)
				}
				return
			}
			if err != nil || !principal.IsValid() || principal.ID() != tc.want || principal.ProjectID() != "p" {
				t.Errorf("Authenticate() = %q of project %q, %v", principal.ID(), principal.ProjectID(), err)
			}
		})
	}
}

func TestZeroPrincipalIsInvalid(t *testing.T) {
	var p access.Principal
	if p.IsValid() || p.ID() != "" || p.ProjectID() != "" {
		t.Errorf("zero principal = %q of %q", p.ID(), p.ProjectID())
	}
}

func TestAdministratorPrincipal(t *testing.T) {
	p := access.Administrator("u1", "p1")
	if !p.IsValid() || p.ID() != "user:u1" || p.ProjectID() != "p1" || !p.Allows(access.ScopeRead) || !p.Allows(access.ScopeCall) {
		t.Errorf("administrator = %q of %q", p.ID(), p.ProjectID())
	}
	for _, nobody := range []access.Principal{access.Administrator("", "p1"), access.Administrator("u1", "")} {
		if nobody != (access.Principal{}) {
			t.Errorf("%+v is a caller", nobody)
		}
	}
}

func TestInvalidKeysReturnSameFault(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		_, good := w.Create(t, 0)
		_, expired := w.Create(t, time.Hour)
		revokedID, revoked := w.Create(t, 0)
		if err := w.Keys.Revoke(t.Context(), "p", revokedID); err != nil {
			t.Fatal(err)
		}
		_, foreign, err := w.Keys.Create(t.Context(), "q", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, unknown := w.Create(t, 0)
		if err := w.DB.Where("prefix <> ''").Delete(&models.Key{}, "hash = ?", hashOf(t, w, unknown)).Error; err != nil {
			t.Fatal(err)
		}
		if err := w.Index.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Advance(time.Hour)
		if !w.Admits(t, good) || !w.AdmitsTo(t, "q", foreign.Reveal()) {
			t.Fatal("valid keys rejected")
		}
		first := fault.Unauthorized()
		for name, header := range map[string]string{
			"missing":         "",
			"scheme alone":    "Bearer",
			"empty token":     "Bearer ",
			"blank token":     "Bearer    ",
			"other scheme":    "Basic " + good,
			"no scheme":       good,
			"malformed":       "Bearer gwk_nonsense",
			"changed":         "Bearer " + good[:len(good)-1] + map[bool]string{true: "1", false: "0"}[good[len(good)-1] == '0'],
			"space behind":    "Bearer " + good + " ",
			"two tokens":      "Bearer " + good + "," + good,
			"unknown":         "Bearer " + unknown,
			"foreign project": "Bearer " + foreign.Reveal(),
			"expired":         "Bearer " + expired,
			"revoked":         "Bearer " + revoked,
			"very long":       "Bearer " + strings.Repeat("gwk_", 4096),
		} {
			principal, err := w.Auth.Authenticate(t.Context(), accesstest.Project("p", models.AuthAPIKey), "", header)
			if principal.IsValid() {
				t.Errorf("%s: authenticated as %s", name, principal.ID())
			}
			if d := cmp.Diff(*first, accesstest.Want(t, err, fault.CodeUnauthorized)); d != "" {
				t.Errorf("%s: fault reveals the reason (-want +got):\n%s", name, d)
			}
		}
	})
}

// hashOf returns the stored hash of a key's text.
func hashOf(t *testing.T, w *accesstest.World, text string) []byte {
	t.Helper()
	var rows []models.Key
	if err := w.DB.Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if string(row.Hash) == string(accesstest.SHA256(text)) {
			return row.Hash
		}
	}
	t.Fatal("no key with this SHA-256")
	return nil
}

func TestAdminTokenMatches(t *testing.T) {
	token := keys.NewAdminToken(secrets.NewValue("a-token-of-an-admin"))
	for given, want := range map[string]bool{
		"a-token-of-an-admin": true, "": false, "a-token-of-an-admi": false, "a-token-of-an-admin ": false, "A-token-of-an-admin": false,
	} {
		if token.Matches(given) != want {
			t.Errorf("Matches(%q) = %v", given, !want)
		}
	}
	for _, none := range []keys.AdminToken{{}, keys.NewAdminToken(secrets.Value{})} {
		if none.Matches("") || none.Matches("[redacted]") {
			t.Error("Matches() without a token = true")
		}
	}
}

func TestStaleProcessRejectsCallers(t *testing.T) {
	w := accesstest.OnSQLite(t)
	_, key := w.Create(t, 0)
	heard, maxStale := w.Now(), 5*time.Minute
	auth := access.NewProjectAuth(w.Index, accesstest.NoTokens{}, func() time.Time { return heard }, maxStale, w.Now)
	for _, tc := range []struct {
		since  time.Duration
		closed bool
	}{{0, false}, {maxStale - 1, false}, {maxStale, false}, {maxStale + 1, true}, {24 * time.Hour, true}} {
		w.Set(heard.Add(tc.since))
		for _, token := range []string{key, "gwk_nonsense", ""} {
			principal, err := auth.Authenticate(t.Context(), accesstest.Project("p", models.AuthAPIKey), "", "Bearer "+token)
			switch {
			case tc.closed:
				if f := accesstest.Want(t, err, fault.CodeUnavailable); f.Kind != fault.KindUnavailable {
					t.Errorf("after %s: kind %d", tc.since, f.Kind)
				}
			case token != key:
				accesstest.Want(t, err, fault.CodeUnauthorized)
			case err != nil:
				t.Errorf("after %s: %v", tc.since, err)
			}
			if principal.IsValid() != (err == nil) {
				t.Errorf("after %s: principal %q, error %v", tc.since, principal.ID(), err)
			}
		}
		if _, err := auth.Authenticate(t.Context(), accesstest.Project("p", models.AuthNone), "", ""); err != nil {
			t.Errorf("after %s: project without access control: %v", tc.since, err)
		}
	}
	heard = w.Now()
	if _, err := auth.Authenticate(t.Context(), accesstest.Project("p", models.AuthAPIKey), "", "Bearer "+key); err != nil {
		t.Errorf("after an update: %v", err)
	}
}

// tokens has one access token of project p for each set of scopes.
type tokens struct{ err error }

func (k tokens) Find(_ context.Context, projectID, toolsetID, token string) (access.TokenHolder, bool, error) {
	holders := map[string]access.TokenHolder{
		"read": {UserID: "ann", Scopes: []access.Scope{access.ScopeRead}}, "call": {UserID: "ann", Scopes: []access.Scope{access.ScopeCall, "offline_access"}},
		"both": {UserID: "bob", Scopes: []access.Scope{access.ScopeRead, access.ScopeCall}}, "neither": {UserID: "cy"}, "nobody": {Scopes: []access.Scope{access.ScopeCall}},
	}
	holder, ok := holders[token]
	return holder, ok && projectID == "p" && toolsetID == "", k.err
}

func TestAuthenticateByToken(t *testing.T) {
	w := accesstest.OnSQLite(t)
	_, key := w.Create(t, 0)
	auth := access.NewProjectAuth(w.Index, tokens{}, w.Now, time.Minute, w.Now)
	for _, tc := range []struct {
		header, id string
		read, call bool
	}{
		{"Bearer read", "user:ann", true, false},
		{"bearer call", "user:ann", true, true},
		{"Bearer both", "user:bob", true, true},
		{"Bearer neither", "user:cy", false, false},
		{"Bearer nobody", "", false, false},
		{"Bearer other", "", false, false},
		{"Bearer " + key, "", false, false},
		{"read", "", false, false},
		{"", "", false, false},
	} {
		principal, err := auth.Authenticate(t.Context(), accesstest.Project("p", models.AuthOAuth), "", tc.header)
		if principal.ID() != tc.id || principal.IsValid() != (err == nil) || principal.Allows(access.ScopeRead) != tc.read || principal.Allows(access.ScopeCall) != tc.call {
			t.Errorf("%q: %+v, %v", tc.header, principal, err)
		}
		if tc.id == "" {
			accesstest.Want(t, err, fault.CodeUnauthorized)
		}
	}
	for _, mode := range []models.AuthMode{models.AuthAPIKey, "", "other"} {
		if principal, err := auth.Authenticate(t.Context(), accesstest.Project("p", mode), "", "Bearer both"); err == nil || principal.IsValid() {
			t.Errorf("mode %q accepts a token", mode)
		}
	}
	if _, err := auth.Authenticate(t.Context(), accesstest.Project("q", models.AuthOAuth), "", "Bearer both"); err == nil {
		t.Error("other project accepts the token")
	}
	broken := access.NewProjectAuth(w.Index, tokens{fault.Internal(context.Canceled)}, w.Now, time.Minute, w.Now)
	if principal, err := broken.Authenticate(t.Context(), accesstest.Project("p", models.AuthOAuth), "", "Bearer both"); err == nil || principal.IsValid() {
		t.Errorf("failed lookup authenticates %q", principal.ID())
	}
	stale := access.NewProjectAuth(w.Index, tokens{}, func() time.Time { return w.Now().Add(-time.Minute - 1) }, time.Minute, w.Now)
	_, err := stale.Authenticate(t.Context(), accesstest.Project("p", models.AuthOAuth), "", "Bearer both")
	accesstest.Want(t, err, fault.CodeUnavailable)
	key2, err := auth.Authenticate(t.Context(), accesstest.Project("p", models.AuthAPIKey), "", "Bearer "+key)
	if err != nil || !key2.Allows(access.ScopeRead) || !key2.Allows(access.ScopeCall) || (access.Principal{}).Allows(access.ScopeRead) {
		t.Errorf("Allows() of key or zero principal: %v", err)
	}
}
