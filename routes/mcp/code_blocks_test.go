package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// TestCodeReturnsBlocks returns the blocks of a tool from code to clients of
// every protocol version. Blocks that a version doesn't have become text.
func TestCodeReturnsBlocks(t *testing.T) {
	app, _ := blocksApp(t)
	quoted, err := json.Marshal("const { content } = await up.every_content({});\nreturn content")
	if err != nil {
		t.Fatal(err)
	}
	params := `"name":"gateway_executeTool","arguments":{"code":` + string(quoted) + `}`
	for version, want := range map[string][]string{
		"2024-11-05": {"text t", "image", "text [audio, audio/wav, 4 bytes; this client can't display it]", "text [link to a b, file:///a%20b; this client can't display it]", "resource"},
		"2025-03-26": {"text t", "image", "audio", "text [link to a b, file:///a%20b; this client can't display it]", "resource"},
		"2025-06-18": {"text t", "image", "audio", "resource_link", "resource"},
		"2025-11-25": {"text t", "image", "audio", "resource_link", "resource"},
		"2026-07-28": {"text t", "image", "audio", "resource_link", "resource"},
	} {
		header := map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": version}
		meta := ""
		if version == "2026-07-28" {
			header["Mcp-Method"], header["Mcp-Name"] = "tools/call", "gateway_executeTool"
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		}
		answer := webtest.Send(t, app.App, webtest.Case{
			Method: "POST", Path: "/v1/mcp/p/request", Header: header, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + meta + `}}`,
		})
		var a toolAnswer
		if err := json.Unmarshal([]byte(answer.Body), &a); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, block := range a.Result.Content {
			got = append(got, strings.TrimSpace(block.Type+" "+block.Text))
		}
		if !slices.Equal(got, want) || !strings.Contains(answer.Body, `"data":"iVBORw0KGgo="`) {
			t.Errorf("version %s: %q, want %q\n%s", version, got, want, answer.Body)
		}
		var out struct{ Result []struct{ Type string } }
		if err := json.Unmarshal(a.Result.Structured, &out); err != nil || len(out.Result) != 5 || strings.Contains(string(a.Result.Structured), "iVBORw0KGgo") {
			t.Errorf("version %s: structured content %s", version, a.Result.Structured)
		}
	}
}

// TestCodePassesBlockData passes the data of an image to a tool that writes.
func TestCodePassesBlockData(t *testing.T) {
	app, up := blocksApp(t)
	up.ForgetRequests()
	out, _ := runCode(t, app, "const { content } = await up.every_content({});\nawait up.write({ text: content[1].data })", "")
	if !out.OK {
		t.Fatalf("%+v", out.Error)
	}
	requests := up.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, `"text":"iVBORw0KGgo="`) {
		t.Errorf("the upstream got %s", body)
	}
}

// blocksApp returns the application and the upstream server up, with a tool that
// returns blocks of every type and one that writes. Project p has Code Mode.
func blocksApp(t *testing.T) (*routestest.App, *upstreamtest.Server) {
	t.Helper()
	const content = `{"content":[{"type":"text","text":"t"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},` +
		`{"type":"resource_link","uri":"file:///a%20b","name":"a b"},{"type":"resource","resource":{"uri":"file:///c","text":"c"}}]}`
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Eras: []upstreamtest.Era{"2025-11-25"}, Tools: []upstreamtest.Tool{
		{Definition: `{"name":"every_content","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, Call: func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(content) }},
		{Definition: `{"name":"write","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`},
	}})
	app := routestest.New(t, modelstest.SQLite(t))
	app.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","codeMode":{"enabled":true,"timeout":20000},"mcpServers":{"up":{"url":%q}}}}}`, up.Start(t)))
	app.Sync(t, "p", "up")
	return app, up
}
