package authserver_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// serve returns a Client and the origin of a server that runs until the test
// ends.
func serve(t *testing.T, h http.HandlerFunc) (client *authserver.Client, origin string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return authserver.NewClient(server.Client(), time.Second), server.URL
}

func TestParseChallenge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		scopes []string
		code   string
		ok     bool
	}{
		{"none", nil, nil, "", false},
		{"other scheme", []string{`Basic realm="x"`}, nil, "", false},
		{"bearer", []string{"Bearer"}, nil, "", true},
		{"second value", []string{`Basic realm="x"`, `bearer error="insufficient_scope", scope="read write read"`}, []string{"read", "write"}, "insufficient_scope", true},
		{"invalid scopes", []string{"Bearer scope=\"good b\\\\ad " + strings.Repeat("x", 257) + "\""}, []string{"good"}, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, ok := authserver.ParseChallenge(tt.values)
			if ok != tt.ok || c.Code != tt.code || !cmp.Equal(c.Scopes, tt.scopes) {
				t.Errorf("ParseChallenge(%q) = %+v, %v, want scopes %q, code %q, %v", tt.values, c, ok, tt.scopes, tt.code, tt.ok)
			}
		})
	}
}

func TestTokenErrors(t *testing.T) {
	const token = "the-refresh-token"
	for _, tt := range []struct {
		name   string
		status int
		body   string
		kind   authserver.Kind
		code   string
		retry  time.Duration
	}{
		{"rejected grant", 400, `{"error":"invalid_grant","error_description":"unknown ` + token + `"}`, authserver.GrantRejected, "invalid_grant", 0},
		{"error with status 200", 200, `{"error":"invalid_grant"}`, authserver.GrantRejected, "invalid_grant", 0},
		{"rejected client", 401, `{"error":"invalid_client"}`, authserver.ClientRejected, authserver.CodeInvalidClient, 0},
		{"other error", 400, `{"error":"temporarily_unavailable"}`, authserver.Temporary, "temporarily_unavailable", 0},
		{"server error", 503, `{"error":"invalid_grant"}`, authserver.Temporary, authserver.CodeServerError, time.Hour},
		{"page", 200, `<html>`, authserver.Temporary, authserver.CodeTokenResponse, 0},
		{"other token type", 200, `{"access_token":"a","token_type":"DPoP"}`, authserver.Temporary, authserver.CodeTokenResponse, 0},
		{"token with a space", 200, `{"access_token":"a b"}`, authserver.Temporary, authserver.CodeTokenResponse, 0},
		{"long token", 200, `{"access_token":"` + strings.Repeat("x", 64<<10+1) + `"}`, authserver.Temporary, authserver.CodeTokenResponse, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, origin := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7200")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := client.Token(t.Context(), origin+"/token", authserver.Credentials{ID: "id"}, url.Values{"refresh_token": {token}})
			var e *authserver.Error
			if !errors.As(err, &e) {
				t.Fatalf("Token() = %v, want an *Error", err)
			}
			if e.Kind != tt.kind || e.Code != tt.code || e.RetryAfter != tt.retry || strings.Contains(e.Text, token) {
				t.Errorf("Token() = %+v, want kind %d, code %s, retry %v", e, tt.kind, tt.code, tt.retry)
			}
		})
	}
}

func TestTokenResponse(t *testing.T) {
	client, origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if id != "id%2F" || secret != "s%3A" {
			t.Errorf("BasicAuth() = %q, %q, want form-encoded credentials", id, secret)
		}
		_, _ = io.WriteString(w, `{"access_token":"a","token_type":"bearer","expires_in":"60","scope":"read"}`)
	})
	got, err := client.Token(t.Context(), origin+"/token", authserver.Credentials{ID: "id/", Secret: secrets.NewValue("s:"), Method: "client_secret_basic"}, url.Values{})
	if err != nil || got.Access.Reveal() != "a" || !got.Refresh.IsZero() || got.Lifetime != time.Minute || !cmp.Equal(got.Scopes, []string{"read"}) {
		t.Errorf("Token() = %+v, %v", got, err)
	}
}

func TestInsecureEndpoints(t *testing.T) {
	client, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("unexpected request for %s", r.URL) })
	for _, endpoint := range []string{"", "http://as.example.com/token", "https://user@as.example.com/token", "https://as.example.com/token#x", "javascript:1", "https://as.example.com/" + strings.Repeat("x", 2048)} {
		_, err := client.Token(t.Context(), endpoint, authserver.Credentials{}, url.Values{})
		var e *authserver.Error
		if !errors.As(err, &e) || e.Code != "insecure_endpoint" {
			t.Errorf("Token(%.40q) = %v, want insecure_endpoint", endpoint, err)
		}
	}
}

func TestDisplayText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{" not\ttoday\u202e<b>\x00 ", "not today<b>"},
		{strings.Repeat("é", 200), strings.Repeat("é", 200)},
		{strings.Repeat("é", 201), strings.Repeat("é", 199) + "…"},
	} {
		if got := authserver.DisplayText(tt.in); got != tt.want {
			t.Errorf("DisplayText(%.40q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
