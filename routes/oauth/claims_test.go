package oauth_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/oidctest"
)

// maxAge is the age at which memberships by a claim expire in these tests.
const maxAge = 2 * time.Hour

// claimed is a site with an identity provider. Its group Engineering has the
// claim eng, the role viewer and the toolset reader of oa, where only holders
// are admitted.
type claimed struct {
	*site
	*routestest.Clock
	provider *oidctest.Fake
}

func newClaimed(t *testing.T, dsn string) *claimed {
	t.Helper()
	clock := &routestest.Clock{}
	provider := oidctest.NewFake(t, clock.Now)
	w := &claimed{Clock: clock, provider: provider, site: newSiteWithClock(t, clock, dsn, nil, "GATEWAY_OIDC_ISSUER="+provider.Issuer,
		"GATEWAY_OIDC_CLIENT_ID="+oidctest.ClientID, "GATEWAY_OIDC_CLIENT_SECRET="+oidctest.ClientSecret, "GATEWAY_OIDC_GROUPS_MAX_AGE="+maxAge.String())}
	w.Apply(t, `{"projects":{"oa":{"oauthAccess":"members","personalKeys":{"enabled":true,"maxDays":30}}}}`)
	w.Apply(t, toolsetsOf)
	w.Apply(t, `{"groups":{"Engineering":{"claim":"eng","role":"viewer"}},"projects":{"oa":{"access":{"groups":{"Engineering":["reader"]}}}}}`)
	return w
}

// signInWith signs a browser in with the provider, which reports groups. It returns
// the last response.
func (w *claimed) signInWith(t *testing.T, b *browser, groups ...string) response {
	t.Helper()
	w.provider.Behave(oidctest.Behavior{Token: func(_, claims map[string]any) { claims["groups"] = groups }})
	code, params := w.provider.Approve(t, b.get(t, w.base+"/login/sso").location)
	return b.get(t, w.base+"/login/callback?"+url.Values{"code": {code}, "state": {params.Get("state")}, "iss": {w.provider.Issuer}}.Encode())
}

// key returns a personal key for oa of the user of the provider.
func (w *claimed) key(t *testing.T) string {
	t.Helper()
	_, text, err := w.Services.Own.CreateKey(t.Context(), personID(t, w.site, "ada@example.com"), "oa", keys.Attributes{Name: "Laptop", Lifetime: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return text.Reveal()
}

// TestClaimGivesAndTakesAccess signs a user in with a group's claim, without it
// and with it again, and moves the clock to the end of the membership.
func TestClaimGivesAndTakesAccess(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newClaimed(t, dsn)
		b := w.open(t)
		if a := w.signInWith(t, b); a.status != http.StatusForbidden {
			t.Fatalf("uninvited without a group: %d", a.status)
		}
		in := w.signInWith(t, b, "other", "eng")
		if in.status != http.StatusSeeOther {
			t.Fatalf("with the group: %d %s", in.status, in.body)
		}
		client := w.register(t, `["`+callback+`"]`)
		const reader = "oa/toolsets/reader/request"
		resource := w.base + "/v1/mcp/" + reader
		whole, scoped := w.grant(t, b, client), w.grant(t, b, client, "resource", resource)
		key := w.key(t)
		// works checks the role and everything that hangs on the toolset.
		works := func(want bool, when string) {
			t.Helper()
			page := b.get(t, w.base+"/admin/projects") // for viewers
			if seen := page.status == http.StatusOK; seen != want {
				t.Errorf("%s: a page for viewers: %d %s", when, page.status, page.location)
			}
			for path, token := range map[string]string{"oa/request": whole.AccessToken, reader: scoped.AccessToken, "oa/request?key": key, reader + "?key": key} {
				switch a := w.rpc(t, path, token, list); {
				case want && (a.status != http.StatusOK || strings.Count(a.body, `"up__`) != 1 || !strings.Contains(a.body, `"up__echo"`)):
					t.Errorf("%s: %s: %d %s", when, path, a.status, a.body)
				case !want && a.status != http.StatusUnauthorized:
					t.Errorf("%s: %s: %d", when, path, a.status)
				}
			}
		}
		works(true, "with the group")
		w.signInWith(t, b)
		works(false, "without the group")
		w.signInWith(t, b, "eng")
		works(true, "with the group again")
		w.Advance(maxAge - time.Minute)
		renew := func(tokens *tokenAnswer) string {
			got, _ := w.token(t, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {tokens.RefreshToken}})
			if got.Error == "" {
				*tokens = got
			}
			return got.Error
		}
		if a, b := renew(&whole), renew(&scoped); a != "" || b != "" { // access tokens live for an hour
			t.Fatalf("renewed before the maximum age: %s %s", a, b)
		}
		works(true, "before the maximum age")
		w.Advance(time.Minute)
		works(false, "at the maximum age")
		if a, b := renew(&whole), renew(&scoped); a != "invalid_grant" || b != "invalid_grant" {
			t.Errorf("renewed at the maximum age: %q %q", a, b)
		}
		w.signInWith(t, b, "eng")
		works(true, "after another sign-in")
	})
}

// listening is an open stream of a client.
type listening struct {
	t *testing.T
	r *bufio.Reader
}

// listen opens a stream. It must not idle for 10 s, which is less than the time
// between two comments.
func (w *claimed) listen(t *testing.T, method, endpoint, token, body string, headers ...string) *listening {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, w.base+"/v1/mcp/oa/"+endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	headers = append(headers, "Authorization", "Bearer "+token, "Accept", "text/event-stream", "Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.open(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("no stream: %d %s", resp.StatusCode, readAll(t, resp))
	}
	return &listening{t, bufio.NewReader(resp.Body)}
}

// next returns the method of the next message, or "end".
func (l *listening) next() string {
	l.t.Helper()
	for {
		line, err := l.r.ReadString('\n')
		switch {
		case err == io.EOF:
			return "end"
		case err != nil:
			return err.Error()
		case strings.HasPrefix(line, "data: "):
			_, rest, _ := strings.Cut(line, `"method":"`)
			method, _, _ := strings.Cut(rest, `"`)
			return method
		}
	}
}

// TestStreamsEndWithClaim moves the clock to the end of a membership while streams
// are open. The streams of a user who holds another toolset continue with the new list.
func TestStreamsEndWithClaim(t *testing.T) {
	for _, holdsMore := range []bool{false, true} {
		t.Run(fmt.Sprintf("holds more %t", holdsMore), func(t *testing.T) {
			w := newClaimed(t, modelstest.SQLite(t))
			if a := w.signInWith(t, w.open(t), "eng"); a.status != http.StatusSeeOther {
				t.Fatalf("sign in: %d %s", a.status, a.body)
			}
			if holdsMore {
				w.Apply(t, `{"projects":{"oa":{"access":{"groups":{"Engineering":["reader"]},"people":{"ada@example.com":["writer"]}}}}}`)
			}
			key := w.key(t)
			begun := w.rpc(t, "oa/request", key, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			streams := []*listening{
				w.listen(t, http.MethodGet, "request", key, "", "Mcp-Session-Id", begun.header.Get("Mcp-Session-Id")),
				w.listen(t, http.MethodPost, "request", key, `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
					"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"),
				w.listen(t, http.MethodGet, "sse", key, ""),
			}
			if got := streams[2].next(); got != "" { // the endpoint
				t.Fatalf("first message: %s", got)
			}
			if got := streams[1].next(); got != "notifications/subscriptions/acknowledged" {
				t.Fatalf("first message: %s", got)
			}
			w.Advance(maxAge)
			want := "end"
			if holdsMore {
				want = "notifications/tools/list_changed"
			}
			for i, stream := range streams {
				if got := stream.next(); got != want {
					t.Errorf("stream %d: %s, want %s", i, got, want)
				}
			}
		})
	}
}
