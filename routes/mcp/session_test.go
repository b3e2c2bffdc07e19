package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/mcp"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

func streamHeader(session string) map[string]string {
	return header("Accept", "text/event-stream", "Mcp-Session-Id", session)
}

const toolsChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// withTool adds a synced server to project p. change changes the project's list
// of tools.
func withTool(t *testing.T, s *server) (change func()) {
	t.Helper()
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: upstreamtest.Standard(2)})
	url := up.Start(t)
	s.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":"`+url+`"}}}}}`)
	s.Sync(t, "p", "up")
	deny := "a"
	return func() {
		t.Helper()
		tools := map[string]string{"a": `["echo"]`, "b": `[]`}[deny]
		deny = map[string]string{"a": "b", "b": "a"}[deny]
		s.Apply(t, `{"projects":{"p":{"mcpServers":{"up":{"url":"`+url+`","denyTools":`+tools+`}}}}}`)
	}
}

func TestSessionStreamListChanged(t *testing.T) {
	s := serve(t, openProject, nil)
	change := withTool(t, s)
	session := s.session(t)
	stream := s.stream(t, request{header: streamHeader(session)})
	if got := stream.block(); !strings.HasPrefix(got, ":") {
		t.Fatalf("first event = %q, want a comment", got)
	}
	change()
	stream.want(toolsChanged)
	change()
	stream.want(toolsChanged)
}

func TestNewestSessionStreamWins(t *testing.T) {
	s := serve(t, openProject, nil, func(o *mcp.Options) { o.MaxStreams = 1 })
	change := withTool(t, s)
	session := s.session(t)
	older := s.stream(t, request{header: streamHeader(session)})
	newer := s.stream(t, request{header: streamHeader(session)})
	older.want("")
	change()
	newer.want(toolsChanged)
	newest := s.stream(t, request{header: streamHeader(session)})
	newer.want("")
	change()
	newest.want(toolsChanged)
}

func TestEndedSessionUnknownEverywhere(t *testing.T) {
	leaveNothing(t)
	dsn := modelstest.SQLite(t)
	one := serveOn(t, dsn, openProject, nil)
	two := serveOn(t, dsn, "", nil)
	session := one.session(t)
	stream := one.stream(t, request{header: streamHeader(session)})
	ping := request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header: legacyHeader("Mcp-Session-Id", session)}
	for _, s := range []*server{one, two} {
		if status, _, body := s.get(t, ping); status != 200 {
			t.Fatalf("ping: got %d: %s", status, body)
		}
	}
	if status, _, body := one.get(t, request{method: "DELETE", header: header("Mcp-Session-Id", session)}); status != 204 || body != "" {
		t.Fatalf("DELETE: got %d: %s", status, body)
	}
	for stream.block() != "" { // skip comments until the end
	}
	unknown := func(s *server, r request) bool {
		status, _, body := s.get(t, r)
		return status == 404 && strings.Contains(body, `"restart":true`)
	}
	for _, r := range []request{ping, {method: "DELETE", header: ping.header}, {header: streamHeader(session)}, {body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header: ping.header}} {
		if !unknown(one, r) {
			t.Errorf("%s %s: the ended session is accepted", r.method, r.body)
		}
	}
	routestest.Eventually(t, "the other process rejects the session", func() bool { return unknown(two, ping) })

	again := serveOn(t, dsn, "", nil)
	if !unknown(again, ping) {
		t.Error("a process that started later accepts the session")
	}
	alive := one.session(t)
	if status, _, _ := again.get(t, request{body: ping.body, header: legacyHeader("Mcp-Session-Id", alive)}); status != 200 {
		t.Errorf("other session in a process that started later: got %d", status)
	}
	if status, _, body := again.get(t, request{body: handshake, header: legacyHeader("Mcp-Session-Id", session)}); status != 200 {
		t.Errorf("initialize with an ended session: got %d: %s", status, body)
	}
}

func TestSessionRequirements(t *testing.T) {
	s := serve(t, `{"projects":{"p":{"authMode":"api_key"}}}`, nil)
	_, key := s.Key(t, "p", time.Hour)
	_, other := s.Key(t, "p", time.Hour)
	mine, theirs := "Bearer "+key, "Bearer "+other
	session := s.session(t, "Authorization", mine)
	const allow = "POST, GET, DELETE"
	for _, c := range []struct {
		name, method string
		header       map[string]string
		status       int
	}{
		{"no session", "GET", header("Accept", "text/event-stream"), 405},
		{"no Accept", "GET", header("Mcp-Session-Id", session), 405},
		{"any Accept", "GET", header("Mcp-Session-Id", session, "Accept", "*/*"), 405},
		{"modern", "GET", header("Mcp-Session-Id", session, "Accept", "text/event-stream", "MCP-Protocol-Version", "2026-07-28"), 405},
		{"no session", "DELETE", header(), 405},
		{"modern", "DELETE", header("Mcp-Session-Id", session, "MCP-Protocol-Version", "2026-07-28"), 405},
		{"other method", "PUT", header("Mcp-Session-Id", session), 405},
		{"HEAD", "HEAD", header("Mcp-Session-Id", session), 405},
		{"an unknown session", "GET", header("Mcp-Session-Id", "x", "Accept", "text/event-stream"), 404},
		{"an unknown session", "DELETE", header("Mcp-Session-Id", "x"), 404},
		{"another's session", "GET", header("Mcp-Session-Id", session, "Accept", "text/event-stream", "Authorization", theirs), 404},
		{"another's session", "DELETE", header("Mcp-Session-Id", session, "Authorization", theirs), 404},
		{"no key", "DELETE", header("Mcp-Session-Id", session, "Authorization", ""), 401},
		{"no key", "GET", header("Accept", "text/event-stream", "Authorization", ""), 401},
		{"own session", "DELETE", header("Mcp-Session-Id", session), 204},
	} {
		t.Run(c.method+" "+c.name, func(t *testing.T) {
			h := header("Authorization", mine)
			for k, v := range c.header {
				h[k] = v
			}
			status, got, body := s.get(t, request{method: c.method, header: h})
			if status != c.status {
				t.Errorf("status %d, want %d: %s", status, c.status, body)
			}
			if status == http.StatusMethodNotAllowed && got.Get("Allow") != allow {
				t.Errorf("Allow is %q, want %q", got.Get("Allow"), allow)
			}
		})
	}
}

func TestSessionCapabilities(t *testing.T) {
	seen := make(chan string, 1)
	s := serve(t, openProject, func(c *call) (string, error) {
		seen <- string(c.Capabilities)
		return okResult, nil
	})
	sized := func(n int) string { return fmt.Sprintf(`{"x":"%s"}`, strings.Repeat("a", n-len(`{"x":""}`))) }
	for _, c := range []struct{ declared, want string }{
		{`{"elicitation":{"form":{}}, "sampling":{}}`, `{"elicitation":{"form":{}},"sampling":{}}`},
		{`{}`, `{}`}, {`[]`, ``}, {`null`, ``}, {`{"x":"` + strings.Repeat("<", 4000) + `"}`, `{"x":"` + strings.Repeat("<", 4000) + `"}`},
		{sized(4<<10 - 1), sized(4<<10 - 1)}, {sized(4 << 10), sized(4 << 10)}, {sized(4<<10 + 1), `{}`},
	} {
		_, h, body := s.get(t, request{body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + c.declared + `}}`})
		if h.Get("Mcp-Session-Id") == "" {
			t.Fatalf("no session: %s", body)
		}
		if n := len(h.Get("Mcp-Session-Id")); n > 6<<10 {
			t.Errorf("the session id has %d bytes", n)
		}
		s.get(t, request{body: toolCall, header: header("Mcp-Session-Id", h.Get("Mcp-Session-Id"))})
		if got := <-seen; got != c.want {
			t.Errorf("declared %.80s: Capabilities = %.80s, want %.80s", c.declared, got, c.want)
		}
	}
}

func TestLogLevelPerSession(t *testing.T) {
	seen := make(chan string, 1)
	s := serve(t, openProject, func(c *call) (string, error) {
		seen <- c.LogLevel
		return okResult, nil
	})
	one, two := s.session(t), s.session(t)
	set := func(session, params string) string {
		_, _, body := s.get(t, request{body: `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":` + params + `}`, header: legacyHeader("Mcp-Session-Id", session)})
		return body
	}
	if got := set(one, `{"level":"warning"}`); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("setLevel: got %s", got)
	}
	for _, bad := range []string{`{"level":"loud"}`, `{"level":7}`, `{}`, `[]`} {
		if got := set(one, bad); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("setLevel %s: got %s", bad, got)
		}
	}
	for session, want := range map[string]string{one: "warning", two: ""} {
		s.get(t, request{body: toolCall, header: legacyHeader("Mcp-Session-Id", session)})
		if got := <-seen; got != want {
			t.Errorf("LogLevel = %q, want %q", got, want)
		}
	}
	s.get(t, request{body: strings.Replace(modernCall, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"error",`, 1), header: modernHeader("tools/call")})
	if got := <-seen; got != "error" {
		t.Errorf("stateless request: LogLevel = %q, want error", got)
	}
	modern := strings.Replace(modernCall, "tools/call", "logging/setLevel", 1)
	if status, _, body := s.get(t, request{body: modern, header: modernHeader("logging/setLevel")}); status != 404 || !strings.Contains(body, "-32601") {
		t.Errorf("stateless setLevel: got %d: %s", status, body)
	}
}

func TestRevokedKeyEndsStreams(t *testing.T) {
	s := serve(t, `{"projects":{"p":{"authMode":"api_key"}}}`, nil, func(o *mcp.Options) { o.KeepAlive = 5 * time.Millisecond })
	id, key := s.Key(t, "p", time.Hour)
	auth := "Bearer " + key
	h := streamHeader(s.session(t, "Authorization", auth))
	h["Authorization"] = auth
	streams := []*events{
		s.stream(t, request{header: h}),
		s.stream(t, request{path: "sse", header: header("Accept", "text/event-stream", "Authorization", auth)}),
		s.stream(t, request{body: listenRequest, header: modernHeader("subscriptions/listen", "Authorization", auth)}),
	}
	project, err := s.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Services.Keys.Revoke(t.Context(), project.Project.ID, id); err != nil {
		t.Fatal(err)
	}
	for _, stream := range streams {
		for stream.block() != "" {
		}
	}
}
