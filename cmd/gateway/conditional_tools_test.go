package main_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// conditionalTools are the tools that server-everything registers only for
// clients that declare a capability, with arguments and expected results.
func conditionalTools() map[string]struct {
	arguments map[string]any
	want      string
} {
	return map[string]struct {
		arguments map[string]any
		want      string
	}{
		"every__get-roots-list":              {map[string]any{}, "file:///home/ada/project"},
		"every__trigger-elicitation-request": {map[string]any{}, "User provided the requested information"},
		"every__trigger-sampling-request":    {map[string]any{"prompt": "hello", "maxTokens": 10}, "sampled by the client"},
		"every__trigger-url-elicitation":     {map[string]any{"url": "https://example.com/a", "message": "open it"}, "completed"},
	}
}

// checkConditionalTools lists and calls the tools of server-everything that
// depend on the client's capabilities.
func (s *stage) checkConditionalTools(t *testing.T) {
	all, err := s.plainList(t.Context(), "open")
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for _, name := range all {
		if strings.HasPrefix(name, "every__") {
			listed++
		}
	}
	t.Logf("%d tools of server-everything are listed", listed)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1.8.0"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{ListChanged: true},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "sampled by the client"}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///home/ada/project", Name: "project"})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.endpoint("open"), HTTPClient: &http.Client{Transport: transport},
	}, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, tt := range conditionalTools() {
		if !slices.Contains(all, name) {
			t.Errorf("tool %s not listed", name)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: tt.arguments})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var text strings.Builder
		for _, block := range result.Content {
			if b, ok := block.(*mcp.TextContent); ok {
				text.WriteString(b.Text + "\n")
			}
		}
		if result.IsError || !strings.Contains(text.String(), tt.want) {
			t.Errorf("%s returned %q, want %q in it", name, text.String(), tt.want)
		}
	}
}
