package api_test

import (
	"strconv"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

// TestRateLimit proves that every limit of requests answers 429 and says when
// to come back, for the caller who exceeded it and for nobody else.
func TestRateLimit(t *testing.T) {
	a := onSQLite(t, trusting)
	a.project(t, "pub", "none", "")
	a.project(t, "key", "api_key", "")
	a.project(t, "oa", "oauth", "")
	a.Apply(t, `{"projects":{"key":{"rateLimit":{"perSecond":0.001,"burst":2}}}}`)
	_, key := a.Key(t, "key", 0)
	_, other := a.Key(t, "key", 0)
	send := func(address string, c webtest.Case, pairs ...string) webtest.Answer {
		t.Helper()
		c.Header = map[string]string{"X-Forwarded-For": address, "Accept": "application/json"}
		for i := 0; i < len(pairs); i += 2 {
			c.Header[pairs[i]] = pairs[i+1]
		}
		return webtest.Send(t, a.App.App, c)
	}
	refused := func(t *testing.T, answer webtest.Answer) {
		t.Helper()
		webtest.Check(t, webtest.Case{Status: 429, WantBody: []string{`"code":"RATE_LIMITED"`}}, answer)
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("Retry-After is %q", answer.Header.Get("Retry-After"))
		}
	}
	call := webtest.Case{Path: "/v1/mcp/key/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"hi"}}}`}
	ask := func(slug string) webtest.Case { return webtest.Case{Path: "/v1/mcp/" + slug + "/request", Body: list} }
	projects := webtest.Case{Method: "GET", Path: "/api/projects"}
	grant := webtest.Case{Path: "/oauth/token", Body: "grant_type=refresh_token&client_id=x&refresh_token=gwrt_wrong"}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}

	t.Run("wrong credentials", func(t *testing.T) {
		for address, place := range map[string]struct {
			wrong, right func(address string) webtest.Answer
			good         int
		}{
			"198.51.100.3": {
				func(at string) webtest.Answer { return send(at, projects, "Authorization", "Bearer wrong") },
				func(at string) webtest.Answer {
					return send(at, projects, "Authorization", "Bearer "+routestest.AdminToken)
				}, 200,
			},
			"198.51.100.4": {
				func(at string) webtest.Answer { return send(at, grant, form...) },
				func(at string) webtest.Answer { return send(at, grant, form...) }, 401,
			},
		} {
			for n := 1; n <= web.MaxAuthFailures; n++ {
				if answer := place.wrong(address); answer.Status != 401 {
					t.Fatalf("%s: failure %d is answered %d: %s", address, n, answer.Status, answer.Body)
				}
			}
			refused(t, place.wrong(address))
			refused(t, place.right(address))
			if answer := place.right("198.51.100.99"); answer.Status != place.good {
				t.Errorf("%s: at another address: %d %s", address, answer.Status, answer.Body)
			}
			refused(t, send(address, projects, "Authorization", "Bearer "+routestest.AdminToken))
			// Who presents nothing has nothing to guess with.
			if answer := send(address, ask("key")); answer.Status != 401 {
				t.Errorf("%s: without a key: %d", address, answer.Status)
			}
			if answer := send(address, ask("pub"), "Authorization", "Bearer wrong"); answer.Status != 200 {
				t.Errorf("%s: where no key is asked for: %d", address, answer.Status)
			}
		}
	})
	t.Run("wrong keys", func(t *testing.T) {
		const address = "198.51.100.20"
		for n := 1; n <= web.MaxAuthFailures; n++ {
			if answer := send(address, ask("key"), "Authorization", "Bearer wrong"); answer.Status != 401 {
				t.Fatalf("failure %d is answered %d: %s", n, answer.Status, answer.Body)
			}
		}
		refused(t, send(address, ask("key"), "Authorization", "Bearer wrong"))
		// Others behind the same address are not to suffer from it.
		if answer := send(address, ask("key"), "Authorization", "Bearer "+key); answer.Status != 200 {
			t.Errorf("a right key: %d %s", answer.Status, answer.Body)
		}
		if answer := send(address, projects, "Authorization", "Bearer "+routestest.AdminToken); answer.Status != 200 {
			t.Errorf("the administration: %d %s", answer.Status, answer.Body)
		}
		if answer := send("198.51.100.21", ask("key"), "Authorization", "Bearer wrong"); answer.Status != 401 {
			t.Errorf("another address: %d %s", answer.Status, answer.Body)
		}
	})
	t.Run("tokens that expired", func(t *testing.T) {
		for n := 0; n <= web.MaxAuthFailures; n++ {
			if answer := send("198.51.100.22", ask("oa"), "Authorization", "Bearer gwat_wrong"); answer.Status != 401 || answer.Header.Get("WWW-Authenticate") == "" {
				t.Fatalf("failure %d is answered %d: %s", n+1, answer.Status, answer.Body)
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
	t.Run("the public catalog", func(t *testing.T) {
		catalog := webtest.Case{Method: "GET", Path: "/api/templates"}
		for n := 0; ; n++ {
			answer := send("198.51.100.60", catalog)
			if answer.Status == 429 {
				refused(t, answer)
				if n < 100 {
					t.Errorf("request %d is refused already", n+1)
				}
				break
			}
			if n > 100_000 {
				t.Fatal("nothing is ever refused")
			}
		}
		if answer := send("198.51.100.61", catalog); answer.Status != 200 {
			t.Errorf("another address: %d", answer.Status)
		}
	})
}
