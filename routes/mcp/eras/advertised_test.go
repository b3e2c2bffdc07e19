package eras_test

import (
	"context"
	"encoding/json"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestAdvertisedUnion merges what two servers declare, for clients of both eras.
func TestAdvertisedUnion(t *testing.T) {
	const one = `{"tools":{},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"],"a":1},"io.modelcontextprotocol/oauth-client-credentials":{},"com.example/log":{"x":1}}}`
	const two = `{"tools":{},"extensions":{"io.modelcontextprotocol/ui":{"a":2,"mimeTypes":["text/html;profile=mcp-app"]}}}`
	servers := map[string]*upstreamtest.Server{}
	for alias, capabilities := range map[string]string{"one": one, "two": two} {
		servers[alias] = upstreamtest.New(upstreamtest.Options{Capabilities: capabilities, Tools: upstreamtest.Standard(1)})
	}
	g := start(t, servers)
	for version, method := range map[string]string{"2025-11-25": "initialize", "2026-07-28": "server/discover"} {
		c := g.client(t, &routestest.Client{Version: version})
		var result struct {
			Capabilities struct{ Extensions json.RawMessage }
		}
		if err := json.Unmarshal([]byte(send(t, c, method, `{"protocolVersion":"2025-11-25","capabilities":{}}`)), &result); err != nil {
			t.Fatal(err)
		}
		if want := `{"com.example/log":{"x":1},"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}`; string(result.Capabilities.Extensions) != want {
			t.Errorf("%s: %s, want %s", method, result.Capabilities.Extensions, want)
		}
		m, err := c.Send(t.Context(), "com.example/log/get", `{}`) // methods of vendors don't pass
		if err != nil || m.Error == nil {
			t.Errorf("%s, %v", m.Result, err)
		}
	}
}

// TestLegacyWrap lists and calls a tool with an array as output, of servers of
// both eras, for clients of both eras and for code.
func TestLegacyWrap(t *testing.T) {
	const schema = `{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`
	const wrapped = `{"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/properties/result/$defs/n"},"$defs":{"n":{"type":"integer"}}}},"required":["result"]}`
	servers := map[string]*upstreamtest.Server{}
	for alias, era := range map[string]upstreamtest.Era{"old": upstreamtest.Era20251125, "now": upstreamtest.Era20260728} {
		servers[alias] = upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{{
			Definition: `{"name":"list","inputSchema":{"type":"object"},"outputSchema":` + schema + `}`,
			Call: func(context.Context, *upstreamtest.Call) upstreamtest.Result {
				return upstreamtest.JSON(`{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}`)
			},
		}}})
	}
	g := start(t, servers)
	g.Apply(t, `{"projects":{"p":{"codeMode":{"enabled":true}}}}`)
	for version, want := range map[string]struct{ schema, result string }{
		"2025-11-25": {wrapped, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}`},
		"2025-03-26": {wrapped, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}`},
		"2026-07-28": {schema, ""},
	} {
		c := g.client(t, &routestest.Client{Version: version})
		var list struct {
			Tools []struct {
				Name         string
				OutputSchema json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(send(t, c, "tools/list", `{}`)), &list); err != nil {
			t.Fatal(err)
		}
		for _, alias := range []string{"old", "now"} {
			for _, tool := range list.Tools {
				if tool.Name == alias+"__list" && string(tool.OutputSchema) != want.schema {
					t.Errorf("%s lists %s with %s", version, tool.Name, tool.OutputSchema)
				}
			}
			got := send(t, c, "tools/call", `{"name":"`+alias+`__list","arguments":{}}`)
			if want.result != "" {
				if got != want.result {
					t.Errorf("%s of %s: %s", alias, version, got)
				}
				continue
			}
			var result struct {
				ResultType        string
				StructuredContent json.RawMessage
			}
			if err := json.Unmarshal([]byte(got), &result); err != nil || result.ResultType != "complete" || string(result.StructuredContent) != "[1]" {
				t.Errorf("%s of %s: %s", alias, version, got)
			}
		}
		var code struct {
			StructuredContent struct{ Result json.RawMessage }
		}
		got := send(t, c, "tools/call", `{"name":"gateway_executeTool","arguments":{"code":"return [await now.list({}), await old.list({})]"}}`)
		if err := json.Unmarshal([]byte(got), &code); err != nil || string(code.StructuredContent.Result) != "[[1],[1]]" {
			t.Errorf("code: %s", got)
		}
	}
}
