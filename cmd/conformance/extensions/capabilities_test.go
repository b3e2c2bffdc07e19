//go:build conformance

package extensions

import (
	"slices"
	"strings"
	"testing"

	"mcpgateway/cmd/internal/stage"
)

// everything returns the client capabilities that server-everything uses, with the
// client's results.
func everything() (capabilities object, answers map[string]object) {
	capabilities = object{"elicitation": object{"form": object{}, "url": object{}}, "sampling": object{}, "roots": object{}}
	return capabilities, map[string]object{
		"elicitation/create":     {"action": "accept", "content": object{"name": "Grace Hopper"}},
		"sampling/createMessage": {"role": "assistant", "model": "test", "content": object{"type": "text", "text": "a sampled text"}},
		"roots/list":             {"roots": []object{{"uri": "file:///home/grace", "name": "home"}}},
	}
}

// TestEverythingOffersAllTools lists the 17 tools of server-everything, of which it
// registers five only for clients with the capabilities that these need, and uses
// those five.
func TestEverythingOffersAllTools(t *testing.T) {
	t.Parallel()
	g := open(t, map[string]string{"all": startEverything(t).url})
	capabilities, answers := everything()
	c := connect(t, sdk1, settings{URL: g.url(), Capabilities: capabilities, Answers: answers})
	n := 0
	for _, name := range c.tools(t) {
		if strings.HasPrefix(name, "all__") {
			n++
		}
	}
	want(t, "tools of server-everything", n, 17)
	for tool, use := range map[string]struct {
		arguments object
		part      string
	}{
		"get-roots-list":              {object{}, "file:///home/grace"},
		"trigger-elicitation-request": {object{}, "Grace Hopper"},
		"trigger-sampling-request":    {object{"prompt": "Say something."}, "a sampled text"},
		"trigger-url-elicitation":     {object{"url": "https://example.com/agree"}, "User completed"},
		"simulate-research-query":     {object{"topic": "gateways"}, "Research Report: gateways"},
	} {
		if text := c.callTool(t, "all__"+tool, use.arguments); !strings.Contains(text, use.part) {
			t.Errorf("%s: got %q, want %q in it", tool, text, use.part)
		}
	}
}

// TestServersSeeTheClientsCapabilities uses tools that return APP to clients with MCP
// Apps, on servers of both generations.
func TestServersSeeTheClientsCapabilities(t *testing.T) {
	t.Parallel()
	g := open(t, map[string]string{"old": startUpstream(t, "probe.mjs").url, "new": startUpstream(t, "probe2.mjs").url})
	ui := object{"extensions": object{"io.modelcontextprotocol/ui": object{"mimeTypes": []string{"text/html;profile=mcp-app"}}}}
	for _, script := range []string{sdk1, sdk2} {
		for answer, capabilities := range map[string]object{"APP": ui, "TEXT": {}} {
			c := connect(t, script, settings{URL: g.url(), Capabilities: capabilities})
			for _, alias := range []string{"old", "new"} {
				want(t, script+" and "+alias, c.callTool(t, alias+"__show", object{}), answer)
			}
		}
	}
}

// TestExtensionsAreAdvertised compares the extensions that initialize and
// server/discover show with those of the servers.
func TestExtensionsAreAdvertised(t *testing.T) {
	t.Parallel()
	g := open(t, map[string]string{
		"probe": startUpstream(t, "probe.mjs").url, "plain": startUpstream(t, "probe2.mjs").url, "skills": startUpstream(t, "skills.mjs").url,
	})
	for _, s := range []struct {
		script   string
		revision string
	}{{sdk1, "2025-11-25"}, {sdk2, "2026-07-28"}} {
		c := connect(t, s.script, settings{URL: g.url()})
		want(t, s.script+": revision", c.opened.ProtocolVersion, s.revision)
		var names []string
		for name := range c.opened.Capabilities.Extensions {
			names = append(names, name)
		}
		slices.Sort(names)
		want(t, s.script+": extensions", strings.Join(names, " "), "com.example/vendor io.modelcontextprotocol/skills io.modelcontextprotocol/ui")
		want(t, s.script+": settings of the vendor", string(c.opened.Capabilities.Extensions["com.example/vendor"]), `{"level":3}`)
	}
}

// TestArraysReachOlderClients calls a tool of SDK 2.x that returns an array, which
// revisions before 2026-07-28 don't allow.
func TestArraysReachOlderClients(t *testing.T) {
	t.Parallel()
	g := open(t, map[string]string{"new": startUpstream(t, "probe2.mjs").url})
	call := object{"params": object{"name": "new__numbers", "arguments": object{}}}
	for _, s := range []struct {
		script, structured string
	}{{sdk1, `{"result":[1,2,3]}`}, {sdk2, `[1,2,3]`}} {
		c := connect(t, s.script, settings{URL: g.url()})
		c.tools(t) // an SDK checks results against the listed schemas
		var result toolResult
		c.do(t, "callTool", call, &result)
		want(t, s.script+": structuredContent", string(result.StructuredContent), s.structured)
		if body := c.lastBody(t); strings.Contains(body, "resultType") != (s.script == sdk2) {
			t.Errorf("%s: resultType in %s", s.script, body)
		}
		if len(result.Content) != 1 || result.Content[0].Text != "[1,2,3]" {
			t.Errorf("%s: content %+v", s.script, result.Content)
		}
	}
}

// lastBody returns the last JSON response.
func (c *client) lastBody(t *testing.T) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.bodies) == 0 {
		t.Fatal("no JSON response")
	}
	return c.bodies[len(c.bodies)-1]
}

// TestUpdatesReachTheirSubscriber subscribes one of two clients of server-everything,
// which has a session for each.
func TestUpdatesReachTheirSubscriber(t *testing.T) {
	t.Parallel()
	const uri, updated, updates = "demo://resource/static/document/features.md", "notifications/resources/updated", 3
	g := startGateway(t, "none", map[string]stage.Server{"all": {URL: startEverything(t).url, SessionMode: "per-client"}})
	subscriber, other := connect(t, sdk1, settings{URL: g.url()}), connect(t, sdk1, settings{URL: g.url()})
	subscriber.request(t, "resources/subscribe", object{"uri": uri}, nil)
	for _, c := range []*client{subscriber, other} {
		c.callTool(t, "all__toggle-subscriber-updates", object{})
	}
	subscriber.await(t, updated, uri, updates)
	want(t, "updates of the other client", other.count(updated, ""), 0)
}
