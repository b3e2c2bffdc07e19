package typescripttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
)

// HostileTool returns a tool of the server "hostile".
func HostileTool(name, description, schema string) *toolset.Tool {
	definition, _ := json.Marshal(map[string]any{"name": name, "description": description, "inputSchema": json.RawMessage(schema)})
	return Tool("hostile", name, definition)
}

// Tool returns a tool with a raw definition.
func Tool(alias, name string, definition []byte) *toolset.Tool {
	full := toolset.JoinName(alias, name)
	return &toolset.Tool{Name: full, FullName: full, Upstream: name, Definition: definition, Server: &toolset.Server{Config: models.Server{Alias: alias, Enabled: true}}}
}

// Declare returns the declarations of tools.
func Declare(t testing.TB, tools []*toolset.Tool, settings typescript.Settings) *typescript.Declared {
	t.Helper()
	declared, err := typescript.Declare(t.Context(), tools, settings)
	if err != nil {
		t.Fatal(err)
	}
	return declared
}

// Numbered returns the format with each number below n, separated by commas.
func Numbered(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}
