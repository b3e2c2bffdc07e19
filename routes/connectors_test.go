package routes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/runners/wire"
	"mcpgateway/web/webtest"
)

func TestConnectorAtTwoReplicas(t *testing.T) {
	w := newConnectorWorld(t, modelstest.Postgres(t), 2)
	d, _ := w.dial(t, "laptop-")
	connected := func(n int) func() bool {
		return func() bool {
			online := 0
			for _, a := range w.apps {
				online += a.Services.ConnectorHub.Online()
			}
			return online == n && len(d.Connected()) == n
		}
	}
	routestest.Eventually(t, "a connection to each replica", connected(2))
	routestest.Eventually(t, "servers of the runner", func() bool { return len(w.servers(t)) == 3 })
	echo := w.servers(t)["laptop-echo"]
	if echo.Transport != "connector" || echo.URL != "" || echo.DefinitionPolicy != "approve" {
		t.Errorf("server %+v", echo)
	}
	if body := w.call(t, w.apps[0], "laptop-echo__echo"); strings.Contains(body, "hello from afar") {
		t.Errorf("call of a tool that nobody approved: %s", body)
	}
	routestest.Eventually(t, "the first list of tools", func() bool {
		inventories, err := w.apps[0].Services.Projects.Inventories(t.Context(), w.project(t))
		return err == nil && inventories[echo.ID] != nil
	})
	w.admin(t, "PATCH", "/api/projects/p/tools/laptop-echo__echo", `{"approved":true}`, 200, nil)
	answers := func() bool {
		return !slices.ContainsFunc(w.apps, func(a *routestest.App) bool {
			return !strings.Contains(w.call(t, a, "laptop-echo__echo"), "hello from afar")
		})
	}
	routestest.Eventually(t, "calls at both replicas", answers)

	// The network fails, and comes back.
	w.lb.cut(true)
	routestest.Eventually(t, "the end of all connections", connected(0))
	if body := w.call(t, w.apps[1], "laptop-echo__echo"); !strings.Contains(body, "UPSTREAM_UNAVAILABLE") {
		t.Errorf("call without a connection: %s", body)
	}
	w.lb.cut(false)
	routestest.Eventually(t, "new connections", connected(2))
	routestest.Eventually(t, "calls at both replicas again", answers)

	// Revoked at one replica, cut at both.
	began := time.Now()
	w.admin(t, "DELETE", "/api/connectors/"+w.id, "", 204, nil)
	for len(d.Connected()) > 0 && time.Since(began) < 30*time.Second {
		<-time.After(time.Millisecond)
	}
	if took := time.Since(began); took > 5*time.Second { // 1 s is guaranteed; the machine may be busy
		t.Errorf("connections were cut after %s", took)
	}
	routestest.Eventually(t, "a refused token", func() bool { return connected(0)() })
	w.wantAudit(t, "connector.created", "connector.connected", "connector.disconnected", "connector.revoked", "server.created", "server.undeclared")
}

// wantAudit checks that the audit log has the actions.
func (w *connectorWorld) wantAudit(t *testing.T, actions ...string) {
	t.Helper()
	body := w.admin(t, "GET", "/api/audit?limit=200", "", 200, nil).Body
	for _, action := range actions {
		if !strings.Contains(body, `"`+action+`"`) {
			t.Errorf("audit log lacks %s: %s", action, body)
		}
	}
	if strings.Contains(body, w.token) {
		t.Error("audit log contains the token")
	}
}

func TestNewestConnectionOfAConnectorWins(t *testing.T) {
	w := newConnectorWorld(t, modelstest.SQLite(t), 1)
	hub := w.apps[0].Services.ConnectorHub
	first, logged := w.dial(t, "")
	routestest.Eventually(t, "a connection", func() bool { return hub.Online() == 1 })
	// The alias "other" is taken, which the runner receives.
	routestest.Eventually(t, "a refused server", func() bool {
		return len(first.Notes()) == 1 && strings.Contains(first.Notes()[0], `other: refused by `+w.lb.url+`: the project already has a server "other"`)
	})
	w.runner.set("echo")
	routestest.Eventually(t, "no refused server", func() bool { return len(first.Notes()) == 0 })
	w.dial(t, "")
	routestest.Eventually(t, "the end of the first connection", func() bool {
		return strings.Contains(logged.String(), "a newer connection uses this token")
	})
	if n := hub.Online(); n > 1 {
		t.Errorf("%d connections, want 1", n)
	}
	w.runner.set()
	routestest.Eventually(t, "an undeclared server", func() bool {
		p, err := w.apps[0].Services.Directory.Project("p")
		return err == nil && p.Server("echo") != nil && p.Server("echo").Config.Undeclared
	})
}

func TestConnectionEndsWithItsToken(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newConnectorWorld(t, dsn, 1)
		hub := w.apps[0].Services.ConnectorHub
		expiry := time.Now().Add(4 * time.Second)
		var made struct{ Token string }
		w.admin(t, "POST", "/api/projects/p/connectors", fmt.Sprintf(`{"name":"short","expiresAt":%q}`, expiry.Format(time.RFC3339Nano)), 201, &made)
		w.token = made.Token
		_, logged := w.dial(t, "")
		routestest.Eventually(t, "a connection", func() bool { return hub.Online() == 1 })
		routestest.Eventually(t, "the end of the connection", func() bool { return hub.Online() == 0 })
		if late := time.Since(expiry); late < -10*time.Millisecond || late > 4*time.Second { // the check of all connections is 5 s later
			t.Errorf("the connection ended %v after its token", late)
		}
		routestest.Eventually(t, "the reason at the runner", func() bool {
			return strings.Contains(logged.String(), "the token has expired") && strings.Contains(logged.String(), "The connector's token has expired.")
		})
	})
}

// upgrade are the headers of a runner's request.
func (w *connectorWorld) upgrade(token string) map[string]string {
	return map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		"Sec-WebSocket-Protocol": "gateway-runner.v1", "Authorization": "Bearer " + token,
	}
}

func TestConnectionsOfConnectorsRefused(t *testing.T) {
	clock := &routestest.Clock{}
	w := &connectorWorld{apps: []*routestest.App{routestest.NewWithClock(t, clock, modelstest.SQLite(t),
		"GATEWAY_PUBLIC_URL=https://gateway.example", "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32", "GATEWAY_ALLOWED_HOSTS=localhost")}}
	w.apps[0].Apply(t, `{"projects":{"p":{"authMode":"api_key"}}}`)
	token := func(name string) (id, token string) {
		var made struct{ ID, Token string }
		w.admin(t, "POST", "/api/projects/p/connectors", `{"name":"`+name+`"}`, 201, &made)
		return made.ID, made.Token
	}
	_, valid := token("valid")
	revokedID, revoked := token("revoked")
	w.admin(t, "DELETE", "/api/connectors/"+revokedID, "", 204, nil)
	_, expired := token("expired")
	_, key := w.apps[0].Key(t, "p", 1e15)
	addresses := 0
	refused := func(name string, status int, text, token string, edits ...string) {
		t.Helper()
		header := w.upgrade(token)
		addresses++
		header["X-Forwarded-For"], header["X-Forwarded-Proto"] = fmt.Sprint("192.0.2.", addresses), "https"
		for i := 0; i < len(edits); i += 2 {
			header[edits[i]] = edits[i+1]
		}
		got := webtest.Send(t, w.apps[0].App, webtest.Case{Path: "/v1/connect", Header: header})
		if got.Status != status || !strings.Contains(got.Body, text) || strings.Contains(got.Body, token) && token != "" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	refused("another origin", 403, "Origin", valid, "Origin", "https://evil.example")
	refused("without TLS", 403, "https", valid, "X-Forwarded-Proto", "http")
	refused("no WebSocket", 400, "WebSocket", valid, "Upgrade", "h2c")
	refused("another subprotocol", 400, "gateway-runner.v1", valid, "Sec-WebSocket-Protocol", "gateway-runner.v2")
	refused("no token", 401, "UNAUTHORIZED", valid, "Authorization", "")
	refused("another scheme", 401, "UNAUTHORIZED", valid, "Authorization", "Basic "+valid)
	refused("wrong token", 401, "is wrong", valid[:20])
	refused("unknown token", 401, "is wrong", "gwc_0000000000000000000000000000000s6Pw1")
	refused("API key", 401, "is wrong", key)
	refused("administration token", 401, "is wrong", routestest.AdminToken)
	refused("revoked", 401, "was revoked", revoked)
	clock.Advance(90*24*time.Hour - time.Minute)
	if _, err := w.apps[0].Services.Connectors.Authenticate(t.Context(), expired); err != nil {
		t.Errorf("before it expires: %v", err)
	}
	clock.Advance(time.Minute)
	refused("expired", 401, "has expired", expired)
	for n := range 11 {
		want := 401
		if n == 10 {
			want = 429
		}
		refused(fmt.Sprint("wrong token ", n+1), want, "", "gwc_wrong", "X-Forwarded-For", "198.51.100.1")
	}
	w.apps[0].Services.Drain()
	_, valid = token("another")
	refused("while shutting down", 503, "shutting down", valid)
}

func TestConnectorsAPI(t *testing.T) {
	w := newConnectorWorld(t, modelstest.SQLite(t), 1)
	const path = "/api/projects/p/connectors"
	for body, field := range map[string]string{
		`{}`: "name", `{"name":" "}`: "name", `{"name":"` + strings.Repeat("x", 101) + `"}`: "name", `{"name":"a\u0007"}`: "name",
		`{"name":"a","expiresAt":"2001-01-01T00:00:00Z"}`: "expiresAt", `{"name":"a","command":"sh"}`: "command", `{"name":"a","token":"gwc_x"}`: "token",
	} {
		if got := w.admin(t, "POST", path, body, 422, nil); !strings.Contains(got.Body, `"`+field+`"`) {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
	type record struct {
		ID, Name, Prefix, Token string
		CreatedAt, ExpiresAt    time.Time
		LastSeenAt, RevokedAt   *time.Time
		Connected               bool
	}
	var made record
	created := w.admin(t, "POST", path, `{"name":"`+strings.Repeat("x", 100)+`"}`, 201, &made)
	if !strings.HasPrefix(made.Token, "gwc_") || made.Prefix != made.Token[:8] || created.Header.Get("Cache-Control") != "no-store" || made.ExpiresAt.Sub(made.CreatedAt) != 90*24*time.Hour {
		t.Errorf("created %+v, headers %v", made, created.Header)
	}
	var list struct {
		Items []record
		Count int
	}
	w.dial(t, "")
	routestest.Eventually(t, "the connection in the list", func() bool {
		got := w.admin(t, "GET", path, "", 200, &list)
		if strings.Contains(got.Body, made.Token) || strings.Contains(got.Body, `"token"`) {
			t.Fatalf("list contains a token: %s", got.Body)
		}
		return list.Count == 2 && list.Items[1].Connected && list.Items[1].LastSeenAt != nil && !list.Items[0].Connected
	})
	for n := list.Count + 1; n <= wire.MaxConnectors+1; n++ {
		status := 201
		if n > wire.MaxConnectors {
			status = 409
		}
		w.admin(t, "POST", path, `{"name":"c"}`, status, nil)
	}
	w.admin(t, "DELETE", "/api/connectors/"+made.ID, "", 204, nil)
	w.admin(t, "DELETE", "/api/connectors/"+made.ID, "", 204, nil) // once is enough
	w.admin(t, "POST", path, `{"name":"c"}`, 201, nil)
	w.admin(t, "DELETE", "/api/connectors/none", "", 404, nil)
	w.admin(t, "GET", "/api/projects/none/connectors", "", 404, nil)
	w.admin(t, "POST", "/api/projects/none/connectors", `{"name":"c"}`, 404, nil)
	if strings.Contains(w.apps[0].Log.String(), w.token) {
		t.Error("log contains a token")
	}
}
