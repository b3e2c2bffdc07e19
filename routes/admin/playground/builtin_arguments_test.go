package playground_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestPlaygroundBuiltinArguments calls the built-in tools from the Playground,
// by its form and from code, with invalid arguments.
func TestPlaygroundBuiltinArguments(t *testing.T) {
	a := routestest.NewAdmin(t)
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: []upstreamtest.Tool{{Definition: `{"name":"write","inputSchema":{"type":"object"}}`}}})
	a.Apply(t, fmt.Sprintf(`{"projects":{"p":{"mcpServers":{"up":{"url":%q}}}}}`, up.Start(t)))
	a.Sync(t, "p", "up")
	for _, tool := range []string{"gateway_executeTool", "gateway_searchMcpForTask", "gateway_listTools"} {
		status, body, _ := a.Send(t, "/admin/projects/p/tools/"+tool+"/try", url.Values{"as": {"json"}, "arguments": {`{"name":"up__write","args":{}}`}})
		if status != http.StatusNotFound {
			t.Errorf("the form of %s: %d %.300s, want 404", tool, status, body)
		}
	}
	for name, form := range map[string]url.Values{
		"typecheck without a compiler": {"code": {"return await up.write({})"}, "typecheck": {"error"}},
		"unknown argument from code":   {"code": {`await gateway.search({ task: "write", top: 3 }); return await up.write({})`}, "typecheck": {"warn"}},
		"ignored argument from code":   {"code": {`return await gateway.call("up__write", {}, { dryRun: true })`}, "typecheck": {"off"}},
	} {
		status, body, location := a.Send(t, "/admin/projects/p/code-mode/run", form)
		if name == "typecheck without a compiler" && (status != http.StatusUnprocessableEntity || !strings.Contains(body, "has no compiler")) {
			t.Errorf("%s: %d %.300s, want 422", name, status, body)
		} else if status == http.StatusSeeOther && location == "" {
			t.Errorf("%s: no outcome", name)
		}
	}
	if n := up.Calls(); n != 0 {
		t.Errorf("the upstream got %d calls, want 0", n)
	}
}
