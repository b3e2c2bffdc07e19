// Package eras_test tests clients and servers of all revisions together.
package eras_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/sandbox/sandboxtest"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }

// gateway is an application with an open project p.
type gateway struct {
	*routestest.App
	origin string
}

// start serves project p with the servers, by alias, whose tools it reads.
func start(t *testing.T, servers map[string]*upstreamtest.Server) *gateway {
	t.Helper()
	return startOn(t, modelstest.SQLite(t), servers)
}

func startOn(t *testing.T, dsn string, servers map[string]*upstreamtest.Server) *gateway {
	t.Helper()
	g := &gateway{App: routestest.New(t, dsn)}
	g.origin = g.Serve(t)
	var declared, aliases []string
	for alias, s := range servers {
		declared, aliases = append(declared, fmt.Sprintf(`%q:{"url":%q}`, alias, s.Start(t))), append(aliases, alias)
	}
	if len(servers) > 0 {
		g.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{`+strings.Join(declared, ",")+`}}}}`)
		g.Sync(t, "p", aliases...)
	}
	return g
}

// client opens a client of project p.
func (g *gateway) client(t *testing.T, c *routestest.Client) *routestest.Client {
	t.Helper()
	c.Endpoint = g.origin + "/v1/mcp/p/request"
	return c.Open(t)
}

// send sends a request that must succeed and returns the raw result.
func send(t *testing.T, c *routestest.Client, method, params string) string {
	t.Helper()
	m, err := c.Send(t.Context(), method, params)
	if err != nil || m.Result == nil {
		t.Fatalf("%s %s: %d %s %s, %v", method, params, m.Status, m.Error, m.Body, err)
	}
	return string(m.Result)
}
