package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/services/typescript"
)

// TestDescribeFromCode reads the declaration of one tool in code.
func TestDescribeFromCode(t *testing.T) {
	app := codeApp(t, "")
	out, _ := runCode(t, app, `return await gateway.describe("clock__days_between")`, "")
	var declared string
	if err := json.Unmarshal(out.Result, &declared); err != nil || !out.OK {
		t.Fatalf("%s %+v", out.Result, out.Error)
	}
	if !strings.Contains(declared, "declare const clock: {\n") || !strings.Contains(declared, `"days_between"(args: {`) || strings.Contains(declared, "current_time") || strings.Contains(declared, "interface Console") {
		t.Errorf("declaration:\n%s", declared)
	}
	if len(out.Calls) != 1 || out.Calls[0].Tool != "gateway_describe" || out.Calls[0].Effect != "read" {
		t.Errorf("calls %+v", out.Calls)
	}
	for code, want := range map[string]string{
		`return await gateway.describe("clock__none")`:           "clock__none",
		`return await gateway.describe("my-text__hash_text")`:    "hash_text", // denied by a filter
		`return await gateway.describe(7)`:                       "gateway.describe takes the name of a tool",
		`return await gateway.describe("clock__x", {})`:          "gateway.describe takes the name of a tool",
		`return await gateway.call("gateway_describe", {n: 1})`:  `unknown argument "n"`,
		`return await gateway.call("gateway_describe", {})`:      "name must be a string",
		`return await gateway.describe("gateway_executeTool")`:   "gateway_executeTool",
		`return await gateway.describe("gateway_describe", "x")`: "gateway_describe",
	} {
		if out, _ := runCode(t, app, code, ""); out.OK || out.Error == nil || !strings.Contains(out.Error.Message, want) {
			t.Errorf("%s: %s %+v, want %q", code, out.Result, out.Error, want)
		}
	}
	if a := rpc(t, app, "tools/call", `{"name":"gateway_describe","arguments":{"name":"clock__days_between"}}`); a.Error == nil || a.Error.Code != -32002 {
		t.Errorf("a client called gateway_describe: %+v", a)
	}
}

// TestDescriptionsOfCodeMode checks what the descriptions of the built-in tools
// say about the caller's own view.
func TestDescriptionsOfCodeMode(t *testing.T) {
	app := codeApp(t, "")
	described := func() map[string]string {
		all := map[string]string{}
		for _, tool := range rpc(t, app, "tools/list", "{}").Result.Tools {
			all[tool.Name] = tool.Description
		}
		return all
	}
	before := described()
	if text := before["gateway_listTools"]; !strings.Contains(text, " All: ") || !strings.Contains(text, " tools, about ") || !strings.HasSuffix(text, " tokens.") {
		t.Errorf("gateway_listTools: %s", text)
	}
	rules, _, _ := strings.Cut(before["gateway_executeTool"], " Namespaces: ")
	for _, want := range []string{"gateway.search(task)", `gateway.describe("alias__tool")`, "Await every call", "no content[0].text", "no JSON.parse", "no import", "no fetch unless it is declared", "no process", "end with return"} {
		if !strings.Contains(rules, want) {
			t.Errorf("gateway_executeTool has no %q: %s", want, rules)
		}
	}
	if len(rules) > 1536 {
		t.Errorf("the rules have %d bytes, want at most 1536", len(rules))
	}
	app.Apply(t, `{"projects":{"p":{"disabledTools":["clock__current_time"]}}}`)
	if after := described(); after["gateway_listTools"] == before["gateway_listTools"] || after["gateway_listTools"] == "" {
		t.Errorf("gateway_listTools still says: %s", after["gateway_listTools"])
	}
}

// TestDeclarationHeader checks that the declarations have the functions of
// gateway.
func TestDeclarationHeader(t *testing.T) {
	app := codeApp(t, "")
	text := rpc(t, app, "tools/call", `{"name":"gateway_listTools","arguments":{"filter":"no such tool"}}`).Result.Content[0].Text
	for _, want := range []string{"call(name: string, ", "describe(name: string): Promise<string>;", "search(task: string"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the header:\n%s", want, text)
		}
	}
	if strings.Contains(text, "declare const "+typescript.Identifier("my-text")) {
		t.Errorf("tools that the filter doesn't match:\n%s", text)
	}
}
