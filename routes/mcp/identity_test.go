package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// introduction returns serverInfo and the instructions for a client of a
// revision.
func introduction(t *testing.T, c *routestest.Client) (info, instructions string) {
	t.Helper()
	c.Open(t)
	method, params := "initialize", `{"protocolVersion":"`+c.Version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	if c.Version == routestest.Stateless {
		method, params = "server/discover", `{}`
	}
	m, err := c.Send(t.Context(), method, params)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ServerInfo   json.RawMessage
		Instructions string
		Meta         struct {
			ServerInfo json.RawMessage `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &got); err != nil {
		t.Fatalf("%s%s: %v", m.Result, m.Body, err)
	}
	return string(got.ServerInfo) + string(got.Meta.ServerInfo), got.Instructions
}

func TestIdentityPerRevision(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Instructions: "Ask \"up\".", Tools: []upstreamtest.Tool{{Definition: `{"name":"a","inputSchema":{"type":"object"}}`}}})
	a := routestest.New(t, modelstest.SQLite(t))
	const icon = "data:image/png;base64,iVBORw0KGgo="
	a.Apply(t, fmt.Sprintf(`{"projects":{
		"full":{"authMode":"none","name":"Full \"1\"","description":"Line\nbreak","instructions":"Be kind.","websiteUrl":"https://x.example/?a=1&b=2","icon":%q,"mcpServers":{"up":{"url":%q}}},
		"link":{"authMode":"none","icon":"https://x.example/i.webp"},
		"bare":{"authMode":"none","name":""}}}`, icon, up.Start(t)))
	a.Sync(t, "full", "up")
	base := a.Serve(t)
	client := func(project, revision string) *routestest.Client {
		return &routestest.Client{Endpoint: base + "/v1/mcp/" + project + "/request", Version: revision}
	}
	const full = `"description":"Line\nbreak","websiteUrl":"https://x.example/?a=1&b=2","icons":[{"src":"` + icon + `","mimeType":"image/png"}]`
	for _, tt := range []struct{ project, revision, want string }{
		{"full", "2024-11-05", `{"name":"full","version":"test"}`},
		{"full", "2025-03-26", `{"name":"full","version":"test"}`},
		{"full", "2025-06-18", `{"name":"full","title":"Full \"1\"","version":"test"}`},
		{"full", "2025-11-25", `{"name":"full","title":"Full \"1\"","version":"test",` + full + `}`},
		{"full", "2026-07-28", `{"name":"full","title":"Full \"1\"","version":"test",` + full + `}`},
		{"link", "2025-11-25", `{"name":"link","title":"link","version":"test","icons":[{"src":"https://x.example/i.webp"}]}`},
		{"bare", "2025-11-25", `{"name":"bare","version":"test"}`},
	} {
		info, text := introduction(t, client(tt.project, tt.revision))
		if d := cmp.Diff(tt.want, info); d != "" {
			t.Errorf("%s of %s (-want +got):\n%s", tt.project, tt.revision, d)
		}
		want := ""
		if tt.project == "full" {
			want = "Be kind.\n\n## up\n\nAsk \"up\".\n"
		}
		if text != want {
			t.Errorf("%s of %s: instructions %q, want %q", tt.project, tt.revision, text, want)
		}
	}
	list, err := client("full", routestest.Stateless).Open(t).Send(t.Context(), "tools/list", `{}`)
	if err != nil || !strings.Contains(string(list.Result), `"io.modelcontextprotocol/serverInfo":{"name":"full","title":"Full \"1\"","version":"test"}`) {
		t.Errorf("list lacks the brief identity: %s, %v", list.Result, err)
	}
}
