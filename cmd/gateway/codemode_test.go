package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// threeCalls is code that calls three tools of two upstream servers and
// returns one value.
const threeCalls = `const [sum, echo] = await Promise.all([
  every["get-sum"]({ a: input.a, b: 2 }),
  every.echo({ message: "from code" }),
]);
console.info("two of three");
const text: string = await stateful.test_simple_text({});
return { sum, echo, first: text.split(" ").slice(0, 2).join(" ") };`

// checkCodeMode searches for a tool, reads the page of its declaration and runs
// code with the official Go client.
func (s *stage) checkCodeMode(t *testing.T, version string) {
	session, err := connectGoSDK(t.Context(), t, s.endpoint("code"), "", version)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}()
	call := func(tool string, arguments map[string]any) (text string, structured map[string]any) {
		t.Helper()
		answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		first, ok := answer.Content[0].(*mcp.TextContent)
		if !ok || answer.IsError {
			t.Fatalf("result of %s: %+v", tool, answer.Content[0])
		}
		structured, _ = answer.StructuredContent.(map[string]any)
		return first.Text, structured
	}
	found, _ := call("gateway_searchMcpForTask", map[string]any{"task": "sum of two numbers"})
	if !strings.Contains(found, "every__get-sum") {
		t.Fatalf("search found %s", found)
	}
	page, structured := call("gateway_listTools", map[string]any{"query": "server:every sum"})
	if declared, _ := structured["declarations"].(string); !strings.Contains(declared, `"get-sum"(args: {`) || !strings.Contains(page, "declare const every") {
		t.Fatalf("declaration page: %s", page)
	}
	_, outcome := call("gateway_executeTool", map[string]any{"code": threeCalls, "input": map[string]any{"a": 40}})
	checkOutcome(t, outcome)

	// A block that a tool returned comes back as an image.
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "gateway_executeTool", Arguments: map[string]any{"code": imageFromCode}})
	if err != nil {
		t.Fatal(err)
	}
	image, ok := answer.Content[0].(*mcp.ImageContent)
	if !ok || answer.IsError || image.MIMEType != "image/png" || !bytes.HasPrefix(image.Data, []byte("\x89PNG")) {
		t.Errorf("image from code: %+v", answer.Content[0])
	}
}

// imageFromCode is code that returns the image of a tool's result.
const imageFromCode = `const { content } = await every["get-tiny-image"]({});
return content.find((block) => block.type === "image");`

// checkCodeImage reads an image returned by code with a client of npm.
func (s *stage) checkCodeImage(t *testing.T, client realClient) {
	saw, err := client.visit(t, s.endpoint("code"), "", toolCall{"gateway_executeTool", map[string]any{"code": imageFromCode}})
	if err != nil {
		t.Fatal(err)
	}
	got := saw.Results["gateway_executeTool"]
	if got.IsError || len(got.Content) != 1 || got.Content[0].Type != "image" || !strings.HasPrefix(got.Content[0].Data, "iVBORw0KGgo") {
		t.Errorf("image from code: %+v", got)
	}
}

// checkOutcome checks the results of the three calls.
func checkOutcome(t *testing.T, outcome map[string]any) {
	t.Helper()
	result, _ := outcome["result"].(map[string]any)
	sum, _ := result["sum"].(string)
	if !strings.Contains(sum, "42") || result["echo"] != "Echo: from code" || result["first"] != "This is" {
		t.Errorf("result = %v (error %v)", outcome["result"], outcome["error"])
	}
	var tools []string
	calls, _ := outcome["calls"].([]any)
	for _, call := range calls {
		receipt, _ := call.(map[string]any)
		tools = append(tools, fmt.Sprint(receipt["tool"], " ", receipt["ok"]))
	}
	if want := []string{"every__get-sum true", "every__echo true", "stateful__test_simple_text true"}; !slices.Equal(tools, want) {
		t.Errorf("calls = %q, want %q", tools, want)
	}
}

// checkCodeOverBridge runs the same code over the SSE bridge, which sends an
// event for every call and ends with [DONE].
func (s *stage) checkCodeOverBridge(t *testing.T) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{
		"name": "gateway_executeTool", "arguments": map[string]any{"code": threeCalls, "input": map[string]any{"a": 40}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	status, header, answer, err := send(t.Context(), http.MethodPost, strings.TrimSuffix(s.endpoint("code"), "request")+"sse", "", body)
	if err != nil || status != http.StatusOK || header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, %v: %s", status, err, answer)
	}
	if !strings.HasSuffix(string(answer), "\n\ndata: [DONE]\n\n") {
		t.Errorf("no [DONE] at the end of the stream: %s", answer)
	}
	var progress []string
	var value string
	for line := range strings.Lines(string(answer)) {
		data, found := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !found || data == "[DONE]" {
			continue
		}
		var event struct {
			Type, Message string
			Result        toolResult
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		switch {
		case event.Type == "progress":
			progress = append(progress, event.Message)
		case event.Type == "result" && !event.Result.IsError && len(event.Result.Content) == 1:
			value = event.Result.Content[0].Text
		default:
			t.Errorf("unexpected event %s", data)
		}
	}
	for _, want := range []string{"is 42.", "Echo: from code", `"This is"`} {
		if !strings.Contains(value, want) {
			t.Errorf("no %q in the result: %s", want, value)
		}
	}
	messages := strings.Join(progress, "\n")
	for _, want := range []string{"every__get-sum done", "every__echo done", "two of three", "stateful__test_simple_text done (3/3, "} {
		if !strings.Contains(messages, want) {
			t.Errorf("no %q in the progress:\n%s", want, messages)
		}
	}
}
