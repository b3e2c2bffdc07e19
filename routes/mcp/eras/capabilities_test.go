package eras_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// declaredIn returns the raw capabilities that the last requests to a server
// declared: in _meta, or in the last handshake.
func declaredIn(t *testing.T, s *upstreamtest.Server) string {
	t.Helper()
	var m struct {
		Params struct {
			Capabilities json.RawMessage
			Meta         map[string]json.RawMessage `json:"_meta"`
		}
	}
	all := s.Requests("tools/call", "initialize")
	for i := len(all) - 1; i >= 0; i-- {
		if err := json.Unmarshal(all[i].Body, &m); err != nil {
			t.Fatal(err)
		}
		if raw := m.Params.Meta["io.modelcontextprotocol/clientCapabilities"]; raw != nil {
			return string(raw)
		}
		if m.Params.Capabilities != nil {
			return string(m.Params.Capabilities)
		}
	}
	return ""
}

// TestCapabilitiesVerbatim calls servers of both eras for clients of both, with
// and without a stream.
func TestCapabilitiesVerbatim(t *testing.T) {
	const rest = `"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]},"com.example/x":{"b":1,"a":2}},"experimental":{"y":{}},"future":[1]`
	const asked = `"sampling":{"context":{}},"elicitation":{"url":{},"form":{}},"roots":{"listChanged":true}`
	old := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1)})
	now := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: upstreamtest.Standard(1)})
	g := start(t, map[string]*upstreamtest.Server{"old": old, "now": now})
	json := map[string]string{"Accept": "application/json"}
	for _, tc := range []struct {
		name, version, declared, want string
		header                        map[string]string
	}{
		{"handshake", "2025-11-25", `{` + asked + `,` + rest + `}`, "", nil},
		{"handshake, less tasks", "2025-11-25", `{` + asked + `,"tasks":{"list":{}},` + rest + `}`, `{` + asked + `,` + rest + `}`, nil},
		{"handshake without a stream", "2025-11-25", `{` + asked + `,` + rest + `}`, `{` + rest + `}`, json},
		{"an older one", "2025-06-18", `{` + rest + `}`, "", json},
		{"stateless", "2026-07-28", `{` + asked + `,` + rest + `}`, "", nil},
		{"stateless, JSON only", "2026-07-28", `{` + asked + `,"tasks":{},` + rest + `}`, `{` + asked + `,` + rest + `}`, json},
		{"nothing", "2025-11-25", `{}`, "", nil},
	} {
		if tc.want == "" {
			tc.want = tc.declared
		}
		c := g.client(t, &routestest.Client{Version: tc.version, Capabilities: tc.declared, Header: tc.header})
		for alias, s := range map[string]*upstreamtest.Server{"old": old, "now": now} {
			s.DropSessions() // so that the call declares
			s.ForgetRequests()
			send(t, c, "tools/call", `{"name":"`+alias+`__echo","arguments":{"text":"x"}}`)
			if got := declaredIn(t, s); got != tc.want {
				t.Errorf("%s, server %s: declared %s, want %s", tc.name, alias, got, tc.want)
			}
		}
	}
	t.Run("without a session", func(t *testing.T) {
		c := g.client(t, &routestest.Client{Version: "2025-11-25"})
		*c = routestest.Client{Endpoint: c.Endpoint}
		for alias, s := range map[string]*upstreamtest.Server{"old": old, "now": now} {
			s.DropSessions()
			s.ForgetRequests()
			send(t, c, "tools/call", `{"name":"`+alias+`__echo","arguments":{"text":"x"}}`)
			if got := declaredIn(t, s); got != "{}" {
				t.Errorf("server %s: declared %s", alias, got)
			}
		}
	})
}

// TestLargeCapabilities opens a session with more capabilities than its id holds.
func TestLargeCapabilities(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1)})
	g := start(t, map[string]*upstreamtest.Server{"up": s})
	large := `{"experimental":{"e":"` + strings.Repeat("a", 4<<10) + `"},"extensions":{"com.example/x":{}}}`
	c := g.client(t, &routestest.Client{Version: "2025-11-25", Capabilities: large})
	send(t, c, "tools/call", `{"name":"up__echo","arguments":{"text":"x"}}`)
	if got := declaredIn(t, s); got != `{"extensions":{"com.example/x":{}}}` {
		t.Errorf("declared %s", got)
	}
	if log := g.Log.String(); !strings.Contains(log, `"client capabilities shortened"`) || !strings.Contains(log, `"omitted":["experimental"]`) {
		t.Errorf("log: %s", log)
	}
}
