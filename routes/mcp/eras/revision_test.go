package eras_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// revision is the record of a server's revision in the API.
type revision struct {
	Used, Reason string
	Since        *string
}

func (g *gateway) revision(t *testing.T, id string) revision {
	t.Helper()
	a := webtest.Send(t, g.App.App, webtest.Case{Path: "/api/servers/" + id, Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken}})
	var record struct{ Revision revision }
	if err := json.Unmarshal([]byte(a.Body), &record); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return record.Revision
}

func (g *gateway) patch(t *testing.T, id, body string) {
	t.Helper()
	a := webtest.Send(t, g.App.App, webtest.Case{Method: "PATCH", Path: "/api/servers/" + id, Body: body, Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken}})
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

// TestFallbackLearns calls a tool that requires input, of a server that can't
// request it in its newest revision, in several replicas.
func TestFallbackLearns(t *testing.T) { modelstest.EachDSN(t, learnOn) }

func learnOn(t *testing.T, dsn string) {
	const failure = "server-initiated requests are not supported"
	s := upstreamtest.New(upstreamtest.Options{
		Eras: []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728},
		Tools: []upstreamtest.Tool{{Definition: `{"name":"ask"}`, Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			if c.Era.Stateless() {
				return upstreamtest.Failure(failure)
			}
			answer, err := c.Request(ctx, "elicitation/create", []byte(`{"message":"name?"}`))
			if err != nil {
				return upstreamtest.Failure(err.Error())
			}
			var m struct{ Result struct{ Action string } }
			if err := json.Unmarshal(answer, &m); err != nil {
				return upstreamtest.Failure(err.Error())
			}
			return upstreamtest.Text("asked: " + m.Result.Action)
		}}},
	})
	one := startOn(t, dsn, map[string]*upstreamtest.Server{"up": s})
	two := startOn(t, dsn, nil)
	id := one.ServerID(t, "p", "up")
	if got := one.revision(t, id); got != (revision{Used: "2026-07-28"}) {
		t.Errorf("before: %+v", got)
	}
	call := func(g *gateway, want string) {
		t.Helper()
		c := g.client(t, &routestest.Client{Version: "2025-11-25", Capabilities: `{"elicitation":{}}`, Respond: func(routestest.Message) string { return `{"action":"accept","content":{}}` }})
		if got := send(t, c, "tools/call", `{"name":"up__ask","arguments":{}}`); !strings.Contains(got, want) {
			t.Errorf("got %s, want %q", got, want)
		}
	}
	call(one, failure)
	call(one, "asked: accept")
	if s.Calls() != 2 {
		t.Errorf("%d calls of the server, want 2", s.Calls())
	}
	for _, g := range []*gateway{one, two} {
		routestest.Eventually(t, "learned revision", func() bool { return g.revision(t, id).Used == "2025-11-25" })
		if got := g.revision(t, id); got.Reason != failure || got.Since == nil {
			t.Errorf("%+v", got)
		}
	}
	call(two, "asked: accept")
	three := startOn(t, dsn, nil) // a restarted process
	call(three, "asked: accept")

	one.patch(t, id, `{"timeout":5000}`) // no reason to forget
	call(one, "asked: accept")
	one.patch(t, id, `{"transport":"streamable-http"}`)
	for _, g := range []*gateway{one, two, three} {
		routestest.Eventually(t, "forgotten revision", func() bool { return g.revision(t, id) == revision{Used: "2026-07-28"} })
	}
	call(one, failure)
}
