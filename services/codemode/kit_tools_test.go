package codemode_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/codemode"
	"mcpgateway/services/toolset"
)

func toolWith(name, description, schema string) *toolset.Tool {
	definition, _ := json.Marshal(map[string]any{"name": name, "description": description, "inputSchema": json.RawMessage(schema)})
	return rawTool("hostile", name, definition)
}

func rawTool(alias, name string, definition []byte) *toolset.Tool {
	full := toolset.JoinName(alias, name)
	return &toolset.Tool{Name: full, FullName: full, Upstream: name, Definition: definition, Server: &toolset.Server{Config: models.Server{Alias: alias, Enabled: true}}}
}

func declare(t testing.TB, tools []*toolset.Tool, settings codemode.Settings) *codemode.Declared {
	t.Helper()
	declared, err := codemode.Declare(t.Context(), tools, settings)
	if err != nil {
		t.Fatal(err)
	}
	return declared
}

// numbered returns the format with each number below n, separated by commas.
func numbered(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}
