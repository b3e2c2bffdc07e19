//go:build conformance

package extensions

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/cmd/internal/stage"
)

const buildLimit = 5 * time.Minute

// buildMCPGo builds the program of testdata/mcp-go, a separate module, so that the
// gateway's doesn't require that library. It returns its path.
func buildMCPGo(ctx context.Context, folder string) (string, error) {
	program := filepath.Join(folder, "mcp-go")
	_, err := stage.Must(ctx, stage.Program{
		Name: "go build mcp-go", Path: "go", Args: []string{"build", "-o", program, "."}, Dir: filepath.Join("testdata", "mcp-go"),
		Env: append(os.Environ(), "CGO_ENABLED=0"),
	}, buildLimit)
	return program, err
}

// TestQuestionsOfMCPGo calls a tool that asks, of a server that speaks both
// generations but refuses to ask in 2026-07-28. Pinned to 2025-11-25, it asks at once;
// on auto, the gateway learns it from the first call.
func TestQuestionsOfMCPGo(t *testing.T) {
	t.Parallel()
	u := startProgram(t, stage.Program{Name: "mcp-go", Path: mcpGo, Args: []string{"serve"}})
	g := startGateway(t, "none", map[string]stage.Server{
		"pinned": {URL: u.url, ProtocolVersion: "2025-11-25"}, "auto": {URL: u.url},
	})
	c := connect(t, sdk1, settings{
		URL: g.url(), Capabilities: object{"elicitation": object{}},
		Answers: map[string]object{"elicitation/create": {"action": "accept", "content": object{"name": "Grace"}}},
	})
	want(t, "pinned", c.callTool(t, "pinned__name", object{}), "Grace")
	c.try(t, "callTool", object{"params": object{"name": "auto__name", "arguments": object{}}})
	want(t, "second call on auto", c.callTool(t, "auto__name", object{}), "Grace")
}

// TestGoClientsWithoutArguments calls a tool without arguments by clients that then
// send null for them.
func TestGoClientsWithoutArguments(t *testing.T) {
	t.Parallel()
	g := open(t, map[string]string{"all": startUpstream(t, "probe2.mjs").url})
	t.Run("mcp-go", func(t *testing.T) {
		printed, err := stage.Must(t.Context(), stage.Program{
			Name: "mcp-go visit", Path: mcpGo, Args: []string{"visit", g.url(), "all__show"}, Env: stage.BareEnvironment(t.TempDir()),
		}, startLimit)
		if err != nil {
			t.Fatal(err)
		}
		var saw struct {
			Tools  []string
			Result toolResult
		}
		decode(t, json.RawMessage(printed), &saw)
		want(t, "call", saw.Result.text(t), "TEXT")
		if !slices.Contains(saw.Tools, "all__show") {
			t.Errorf("tools %q", saw.Tools)
		}
	})
	t.Run("go-sdk", func(t *testing.T) {
		client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1.0.0"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: g.url()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Error(err)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "all__show"})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(result)
		if err != nil || !strings.Contains(string(raw), "TEXT") {
			t.Errorf("%s %v", raw, err)
		}
	})
	t.Run("nulls", func(t *testing.T) {
		raw, _ := exchange(t, g.url(), map[string][]string{}, object{
			"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "all__show", "arguments": nil, "_meta": nil},
		})
		if !strings.Contains(string(raw), `"TEXT"`) {
			t.Errorf("arguments null: %s", raw)
		}
		raw, _ = exchange(t, g.url(), map[string][]string{}, object{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": nil})
		if !strings.Contains(string(raw), `"all__show"`) {
			t.Errorf("params null: %s", raw)
		}
	})
}
