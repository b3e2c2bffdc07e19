//go:build conformance

package extensions

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/services/upstream/upstreamtest"
)

// TestMisspelledArguments calls a tool with arguments of the built-in tool that it
// doesn't have, or that contradict each other. Nothing may reach the server.
func TestMisspelledArguments(t *testing.T) {
	t.Parallel()
	server := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{upstreamtest.Echo()}, Record: -1})
	g := open(t, map[string]string{"echo": server.Start(t)})
	for _, script := range []string{sdk1, sdk2} {
		c := connect(t, script, settings{URL: g.url()})
		c.tools(t)
		before := server.Stats().Calls
		for _, refused := range []struct {
			arguments object
			parts     []string
		}{
			{object{"name": "echo__echo", "args": object{"text": "x"}}, []string{`"args"`, `"arguments"`}},
			{object{"code": "return 1", "dry_run": true}, []string{`"dry_run"`, `"dryRun"`}},
			{object{"name": "echo__echo", "arguments": object{"text": "x"}, "dryRun": true}, []string{"dryRun", "name"}},
		} {
			fault := c.fault(t, "tools/call", object{"name": "gateway_executeTool", "arguments": refused.arguments})
			want(t, "code", fmt.Sprint(fault.Code), "-32602")
			for _, part := range refused.parts {
				if !strings.Contains(fault.Message, part) {
					t.Errorf("%s: %v: message %q, want %q in it", script, refused.arguments, fault.Message, part)
				}
			}
		}
		want(t, "calls of the server", server.Stats().Calls, before)
		text := c.callTool(t, "gateway_executeTool", object{"name": "echo__echo", "arguments": object{"text": "x"}})
		want(t, "correct call", text, "x")
	}
}
