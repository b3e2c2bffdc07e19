package api_test

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/web/ratelimit"
	"mcpgateway/web/webtest"
)

// TestRateLimit checks that every request limit responds with 429 and
// Retry-After, and only to the caller that exceeded it.
func TestRateLimit(t *testing.T) {
	a := onSQLite(t, trusting)
	a.project(t, "pub", "none", "")
	a.project(t, "key", "api_key", "")
	a.project(t, "oa", "oauth", "")
	a.Apply(t, `{"projects":{"key":{"rateLimit":{"perSecond":0.001,"burst":2}}}}`)
	_, key := a.Key(t, "key", 0)
	_, other := a.Key(t, "key", 0)
	send := func(address string, c webtest.Case, pairs ...string) webtest.Response {
		t.Helper()
		c.Header = map[string]string{"X-Forwarded-For": address, "Accept": "application/json"}
		for i := 0; i < len(pairs); i += 2 {
			c.Header[pairs[i]] = pairs[i+1]
		}
		return webtest.Send(t, a.App.App, c)
	}
	refused := func(t *testing.T, answer webtest.Response) {
		t.Helper()
		webtest.Check(t, webtest.Case{Status: 429, WantBody: []string{`"code":"RATE_LIMITED"`}}, answer)
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("Retry-After = %q", answer.Header.Get("Retry-After"))
		}
	}
	call := webtest.Case{Path: "/v1/mcp/key/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"hi"}}}`}
	ask := func(slug string) webtest.Case { return webtest.Case{Path: "/v1/mcp/" + slug + "/request", Body: list} }
	projects := webtest.Case{Method: "GET", Path: "/api/projects"}
	grant := func(client string) webtest.Case {
		return webtest.Case{Path: "/oauth/token", Body: "grant_type=refresh_token&refresh_token=gwrt_wrong&client_id=" + client}
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}

	asProgram := []string{"Authorization", "Bearer " + routestest.AdminToken}
	t.Run("wrong administration tokens", func(t *testing.T) {
		const address = "198.51.100.3"
		for n := 1; n <= ratelimit.MaxAuthFailures; n++ {
			if answer := send(address, projects, "Authorization", "Bearer wrong"); answer.Status != 401 {
				t.Fatalf("failure %d: status %d: %s", n, answer.Status, answer.Body)
			}
		}
		refused(t, send(address, projects, "Authorization", "Bearer wrong"))
		for place, answer := range map[string]webtest.Response{
			"valid token":        send(address, projects, asProgram...),
			"valid token, again": send(address, projects, asProgram...),
			"key":                send(address, ask("key"), "Authorization", "Bearer "+key),
			"open project":       send(address, ask("pub"), "Authorization", "Bearer wrong"),
		} {
			if answer.Status != 200 {
				t.Errorf("%s: %d %s", place, answer.Status, answer.Body)
			}
		}
		refused(t, send(address, projects, "Authorization", "Bearer wrong"))
		for place, answer := range map[string]webtest.Response{
			"another address":   send("198.51.100.99", projects, "Authorization", "Bearer wrong"),
			"nothing presented": send(address, projects),
			"client":            send(address, grant("x"), form...),
			"wrong key":         send(address, ask("key"), "Authorization", "Bearer wrong"),
			"proxy credentials": send(address, projects, "Authorization", "Basic x"),
		} {
			if answer.Status != 401 {
				t.Errorf("%s: %d %s", place, answer.Status, answer.Body)
			}
		}
	})
	t.Run("wrong grants of a client", func(t *testing.T) {
		const address = "198.51.100.4"
		for n := 1; n <= ratelimit.MaxAuthFailures; n++ {
			if answer := send(address, grant("x"), form...); answer.Status != 401 {
				t.Fatalf("failure %d: status %d: %s", n, answer.Status, answer.Body)
			}
		}
		refused(t, send(address, grant("x"), form...))
		refused(t, send(address, grant(""), append(form, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("x:secret")))...))
		refused(t, send(address, webtest.Case{Path: "/oauth/revoke", Body: "client_id=x&token=y"}, form...))
		for place, answer := range map[string]webtest.Response{
			"another client":  send(address, grant("y"), form...),
			"another address": send("198.51.100.99", grant("x"), form...),
		} {
			if answer.Status != 401 {
				t.Errorf("%s: %d %s", place, answer.Status, answer.Body)
			}
		}
		if answer := send(address, projects, asProgram...); answer.Status != 200 {
			t.Errorf("administration: %d %s", answer.Status, answer.Body)
		}
	})
	t.Run("wrong keys", func(t *testing.T) {
		const address = "198.51.100.20"
		wrong := func() webtest.Response { return send(address, ask("key"), "Authorization", "Bearer wrong") }
		first := wrong()
		for n := 2; n <= ratelimit.MaxAuthFailures; n++ {
			if answer := wrong(); answer.Status != 401 || answer.Header.Get("Retry-After") != "" {
				t.Fatalf("failure %d: status %d: %v", n, answer.Status, answer.Header)
			}
		}
		n := ratelimit.MaxAuthFailures + 1
		for ; n <= 100; n++ {
			answer := wrong()
			seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			if answer.Status != 401 || err != nil || seconds < 1 || seconds > 60 || answer.Header.Get("WWW-Authenticate") == "" {
				t.Fatalf("failure %d: status %d: %v", n, answer.Status, answer.Header)
			}
			if routestest.Normalise(answer.Body) != routestest.Normalise(first.Body) {
				t.Fatalf("failure %d: %s, first failure: %s", n, answer.Body, first.Body)
			}
		}
		var answer webtest.Response
		for ; answer.Status != 429; n++ {
			if answer = wrong(); n > 10_000 {
				t.Fatal("wrong keys are not limited")
			}
		}
		refused(t, answer)
		if !strings.Contains(answer.Body, "from this address") {
			t.Errorf("limit of the address: %s", answer.Body)
		}
		// Other clients with the same address are not affected.
		for place, answer := range map[string]webtest.Response{
			"valid key":      send(address, ask("key"), "Authorization", "Bearer "+key),
			"administration": send(address, projects, asProgram...),
		} {
			if answer.Status != 200 {
				t.Errorf("%s: %d %s", place, answer.Status, answer.Body)
			}
		}
		if answer := send("198.51.100.21", ask("key"), "Authorization", "Bearer wrong"); answer.Status != 401 || answer.Header.Get("Retry-After") != "" {
			t.Errorf("another address: %d %v", answer.Status, answer.Header)
		}
	})
	t.Run("expired tokens", func(t *testing.T) {
		for n := 0; n <= ratelimit.MaxAuthFailures; n++ {
			if answer := send("198.51.100.22", ask("oa"), "Authorization", "Bearer gwat_wrong"); answer.Status != 401 || answer.Header.Get("WWW-Authenticate") == "" {
				t.Fatalf("failure %d: status %d: %s", n+1, answer.Status, answer.Body)
			}
		}
	})
	t.Run("calls of a key", func(t *testing.T) {
		for n := 1; n <= 2; n++ {
			if answer := send("198.51.100.50", call, "Authorization", "Bearer "+key); answer.Status != 200 {
				t.Fatalf("call %d: %d %s", n, answer.Status, answer.Body)
			}
		}
		refused(t, send("198.51.100.51", call, "Authorization", "Bearer "+key))
		if answer := send("198.51.100.50", call, "Authorization", "Bearer "+other); answer.Status != 200 {
			t.Errorf("another key: %d %s", answer.Status, answer.Body)
		}
	})
	t.Run("public catalog", func(t *testing.T) {
		catalog := webtest.Case{Method: "GET", Path: "/api/templates"}
		for n := 0; ; n++ {
			answer := send("198.51.100.60", catalog)
			if answer.Status == 429 {
				refused(t, answer)
				if n < 100 {
					t.Errorf("request %d was rejected", n+1)
				}
				break
			}
			if n > 100_000 {
				t.Fatal("no request was rejected")
			}
		}
		if answer := send("198.51.100.61", catalog); answer.Status != 200 {
			t.Errorf("another address: %d", answer.Status)
		}
	})
}
