package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// recipeWorld is a project p with Code Mode, a server and a toolset of only
// recipes, and an equal project copy without recipes.
type recipeWorld struct {
	*routestest.App
	clock *upstreamtest.Server
	key   string // of the whole project p
}

func newRecipeWorld(t *testing.T, dsn string) *recipeWorld {
	t.Helper()
	clock := upstreamtest.New(demo.Servers()[0])
	w := &recipeWorld{App: routestest.New(t, dsn), clock: clock}
	project := fmt.Sprintf(`{"authMode":"api_key","codeMode":{"enabled":true,"timeout":10000},"toolsets":{"few":{"include":["gateway__*"]}},"mcpServers":{"clock":{"url":%q}}}`, clock.Start(t))
	w.Apply(t, `{"projects":{"p":`+project+`,"copy":`+project+`}}`)
	w.Sync(t, "p", "clock")
	w.Sync(t, "copy", "clock")
	_, w.key = w.Key(t, "p", 0)
	return w
}

// days is the recipe of the tests.
const days = `{"name":"days_until","description":"Counts the days from one date to another","inputSchema":{"type":"object","properties":{"start":{"type":"string"},"end":{"type":"string"}},"required":["start","end"],"additionalProperties":false},` +
	`"code":"const r = await clock.days_between({ start: input.start, end: input.end });\nreturn { result: r };","effect":"read"}`

// api sends a request with the administration token.
func (w *recipeWorld) api(t *testing.T, method, path, body string, status int) map[string]any {
	t.Helper()
	answer := webtest.Send(t, w.App.App, webtest.Case{Method: method, Path: "/api/projects" + path, Body: body, Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken}})
	if answer.Status != status {
		t.Fatalf("%s %s: %d, want %d; %s", method, path, answer.Status, status, answer.Body)
	}
	var record map[string]any
	if answer.Body != "" && json.Unmarshal([]byte(answer.Body), &record) != nil {
		t.Fatalf("%s %s: %s", method, path, answer.Body)
	}
	return record
}

// call calls a tool with a key.
func (w *recipeWorld) call(t *testing.T, slug, key, tool, arguments string) toolAnswer {
	t.Helper()
	return w.send(t, slug, key, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

func (w *recipeWorld) send(t *testing.T, slug, key, method, params string) (a toolAnswer) {
	t.Helper()
	answer := webtest.Send(t, w.App.App, webtest.Case{
		Method: "POST", Path: "/v1/mcp/" + slug + "/request", Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params),
		Header: map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25", "Authorization": "Bearer " + key},
	})
	if err := json.Unmarshal([]byte(answer.Body), &a); err != nil || answer.Status != 200 {
		t.Fatalf("%s %s: %d %s", method, params, answer.Status, answer.Body)
	}
	return a
}

// code runs code and returns its text.
func (w *recipeWorld) code(t *testing.T, slug, key, code, more string) string {
	t.Helper()
	quoted, _ := json.Marshal(code)
	a := w.call(t, slug, key, "gateway_executeTool", fmt.Sprintf(`{"code":%s%s}`, quoted, more))
	if len(a.Result.Content) == 0 {
		t.Fatalf("%s: %+v", code, a)
	}
	return a.Result.Content[0].Text
}

func (w *recipeWorld) names(t *testing.T, slug, key string) string {
	t.Helper()
	var names []string
	for _, tool := range w.send(t, slug, key, "tools/list", "{}").Result.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// TestRecipe saves a recipe and uses it in every way, exports it, applies it to
// another project, and refuses a caller without its tools.
func TestRecipe(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newRecipeWorld(t, dsn)
		made := w.api(t, "POST", "/p/recipes", days, 201)
		if made["tool"] != "gateway__days_until" || made["version"] != 1.0 || fmt.Sprint(made["tools"]) != "[clock__days_between]" || fmt.Sprint(made["missing"]) != "[]" || made["enabled"] != true {
			t.Fatalf("created %v", made)
		}
		path := "/p/recipes/" + made["id"].(string)
		const input = `{"start":"2026-01-01","end":"2026-03-01"}`

		if names := w.names(t, "p", w.key); !strings.Contains(names, "gateway__days_until") {
			t.Errorf("listed: %s", names)
		}
		for _, search := range []string{`{"task":"count the days from one date to another"}`, `{"query":"server:gateway until readonly:true"}`} {
			if text := w.call(t, "p", w.key, "gateway_searchMcpForTask", search).Result.Content[0].Text; !strings.Contains(text, "gateway__days_until") || strings.Contains(text, "SERVER_UNKNOWN") {
				t.Errorf("search %s: %s", search, text)
			}
		}
		if text := w.call(t, "p", w.key, "gateway_listTools", `{}`).Result.Content[0].Text; !strings.Contains(text, `run(recipe: "days_until", input: {`) {
			t.Errorf("declarations: %s", text)
		}
		for _, a := range []toolAnswer{w.call(t, "p", w.key, "gateway__days_until", input), w.call(t, "p", w.key, "gateway_executeTool", `{"name":"gateway__days_until","arguments":`+input+`}`)} {
			if a.Error != nil || a.Result.IsError || !strings.Contains(string(a.Result.Structured), "59") {
				t.Errorf("called: %+v %s", a, a.Result.Structured)
			}
		}
		if text := w.code(t, "p", w.key, `const r = await gateway.run("days_until", input); return [typeof r.result, JSON.stringify(r)];`, `,"input":`+input); !strings.Contains(text, "59") {
			t.Errorf("from code: %s", text)
		}
		// Input is checked before anything runs, whatever the project validates.
		if a := w.call(t, "p", w.key, "gateway__days_until", `{"start":"2026-01-01","finish":"x"}`); a.Error == nil || a.Error.Code != -32602 {
			t.Errorf("wrong input: %+v", a)
		}

		// Versions.
		if changed := w.api(t, "PATCH", path, `{"description":"Counts days"}`, 200); changed["version"] != 2.0 || len(changed["versions"].([]any)) != 2 {
			t.Errorf("changed %v", changed)
		}
		w.api(t, "PATCH", path, `{"name":"other"}`, 422)
		w.api(t, "POST", "/p/recipes", days, 409)

		// On and off, like every tool.
		w.api(t, "PATCH", path, `{"enabled":false}`, 200)
		if a := w.call(t, "p", w.key, "gateway__days_until", input); a.Error == nil || a.Error.Code != -32003 || strings.Contains(w.names(t, "p", w.key), "days_until") {
			t.Errorf("turned off: %+v", a)
		}
		w.api(t, "PATCH", path, `{"enabled":true}`, 200)

		// A key of a toolset with the recipe, but without its tools.
		few := w.api(t, "POST", "/p/keys", `{"name":"few","toolsets":["few"]}`, 201)["key"].(string)
		if names := w.names(t, "p", few); !strings.Contains(names, "gateway__days_until") || strings.Contains(names, "clock__") {
			t.Errorf("the toolset lists %s", names)
		}
		before := len(w.clock.Requests("tools/call"))
		if a := w.call(t, "p", few, "gateway__days_until", input); !a.Result.IsError || !strings.Contains(a.Result.Content[0].Text, "not available to you") || strings.Contains(a.Result.Content[0].Text, "clock") {
			t.Errorf("without its tools: %+v", a)
		}
		if after := len(w.clock.Requests("tools/call")); after != before {
			t.Errorf("%d calls reached the server", after-before)
		}

		// Export, and apply elsewhere.
		exported, err := w.Services.Projects.Export(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Projects map[string]struct{ Recipes json.RawMessage }
		}
		if err := json.Unmarshal(exported, &file); err != nil || !strings.Contains(string(file.Projects["p"].Recipes), "days_until") {
			t.Fatalf("%v; exported %s", err, exported)
		}
		w.Apply(t, `{"projects":{"copy":{"recipes":`+string(file.Projects["p"].Recipes)+`}}}`)
		_, copyKey := w.Key(t, "copy", 0)
		if a := w.call(t, "copy", copyKey, "gateway__days_until", input); a.Result.IsError || !strings.Contains(string(a.Result.Structured), "59") {
			t.Errorf("applied elsewhere: %+v", a)
		}

		// Without Code Mode there are no recipes.
		w.Apply(t, `{"projects":{"copy":{"codeMode":{"enabled":false}}}}`)
		if a := w.call(t, "copy", copyKey, "gateway__days_until", input); a.Error == nil || a.Error.Code != -32003 {
			t.Errorf("without Code Mode: %+v", a)
		}

		w.api(t, "DELETE", path, "", 204)
		if a := w.call(t, "p", w.key, "gateway__days_until", input); a.Error == nil || a.Error.Code != -32002 {
			t.Errorf("deleted: %+v", a)
		}
	})
}

// TestRecipeProposal proposes a recipe by code, which has no effect before it is
// approved.
func TestRecipeProposal(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newRecipeWorld(t, dsn)
		const save = `,"input":{"start":"2026-01-01","end":"2026-03-01"},"save":{"name":"days_until","description":"Counts days"}`
		text := w.code(t, "p", w.key, "const r = await clock.days_between(input);\nreturn {result: r};", save)
		if !strings.Contains(text, "Proposed as the recipe days_until") {
			t.Fatalf("proposed: %s", text)
		}
		if names := w.names(t, "p", w.key); strings.Contains(names, "gateway__") {
			t.Errorf("a proposal is listed: %s", names)
		}
		if a := w.call(t, "p", w.key, "gateway__days_until", `{}`); a.Error == nil || a.Error.Code != -32002 || !strings.Contains(a.Error.Message, "This project has no recipe") {
			t.Errorf("a proposal is called: %+v", a)
		}
		items := w.api(t, "GET", "/p/recipes", "", 200)["items"].([]any)
		proposal := items[0].(map[string]any)
		if len(items) != 1 || proposal["state"] != "proposed" || proposal["effect"] != "read" || proposal["proposedBy"] == "" || !strings.Contains(fmt.Sprint(proposal["inputSchema"]), "required:[start end]") {
			t.Errorf("the proposal is %v", proposal)
		}
		w.api(t, "POST", "/p/recipes/"+proposal["id"].(string)+"/approve", "", 200)
		if a := w.call(t, "p", w.key, "gateway__days_until", `{"start":"2026-01-01","end":"2026-03-01"}`); !strings.Contains(string(a.Result.Structured), "59") {
			t.Errorf("approved: %+v", a)
		}
		// A failed run is not proposed, and a proposal can be rejected.
		if text := w.code(t, "p", w.key, "throw new Error('no')", `,"save":{"name":"broken","description":"x"}`); !strings.Contains(text, "was not proposed") {
			t.Errorf("a failed run: %s", text)
		}
		w.code(t, "p", w.key, "return 1", `,"save":{"name":"one","description":"Returns one"}`)
		for _, item := range w.api(t, "GET", "/p/recipes", "", 200)["items"].([]any) {
			if record := item.(map[string]any); record["state"] == "proposed" {
				w.api(t, "DELETE", "/p/recipes/"+record["id"].(string), "", 204)
			}
		}
		if items := w.api(t, "GET", "/p/recipes", "", 200)["items"].([]any); len(items) != 1 {
			t.Errorf("after the rejection: %v", items)
		}
		for arguments, want := range map[string]int{
			`{"code":"return 1","save":{"name":"Bad","description":"x"}}`:             -32602,
			`{"code":"return 1","save":{"name":"a__b","description":"x"}}`:            -32602,
			`{"code":"return 1","save":{"name":"a"}}`:                                 -32602,
			`{"code":"return 1","save":{"name":"a","description":"x","effect":"y"}}`:  -32602,
			`{"code":"return 1","dryRun":true,"save":{"name":"a","description":"x"}}`: -32602,
			`{"name":"clock__current_time","save":{"name":"a","description":"x"}}`:    -32602,
		} {
			if a := w.call(t, "p", w.key, "gateway_executeTool", arguments); a.Error == nil || a.Error.Code != want {
				t.Errorf("%s: %+v", arguments, a)
			}
		}
		before := len(w.api(t, "GET", "/p/recipes", "", 200)["items"].([]any))
		for i := range 11 {
			text := w.code(t, "p", w.key, "return 1", fmt.Sprintf(`,"save":{"name":"p%d","description":"x"}`, i))
			if got := strings.Contains(text, "Proposed as"); got != (i < 10) {
				t.Errorf("proposal %d: %s", i+1, text)
			}
		}
		if after := len(w.api(t, "GET", "/p/recipes", "", 200)["items"].([]any)); after != before+10 {
			t.Errorf("%d proposals wait", after-before)
		}
	})
}

// TestRecipesInsideRecipes bounds recipes that call recipes.
func TestRecipesInsideRecipes(t *testing.T) {
	w := newRecipeWorld(t, modelstest.SQLite(t))
	create := func(name, code, effect string) {
		t.Helper()
		body, _ := json.Marshal(map[string]string{"name": name, "description": name, "code": code, "effect": effect})
		w.api(t, "POST", "/p/recipes", string(body), 201)
	}
	create("three", `return 3`, "read")
	create("two", `return (await gateway.run("three")) + 1`, "read")
	create("one", `return (await gateway.run("two")) + 1`, "read")
	create("zero", `return (await gateway.run("one")) + 1`, "read")
	create("itself", `return await gateway.run("itself")`, "read")
	create("writes", `return 1`, "write")
	create("claims_to_read", `return await gateway.run("writes")`, "read")
	create("many", `return (await Promise.all([1,2,3,4,5,6].map(() => gateway.run("three")))).length`, "read")
	for name, want := range map[string]string{
		"one": "5", "zero": "depth of 3", "itself": "depth of 3", "claims_to_read": "declared to read", "many": "6",
	} {
		if a := w.call(t, "p", w.key, "gateway__"+name, `{}`); a.Error != nil || !strings.Contains(a.Result.Content[0].Text, want) {
			t.Errorf("%s: %+v, want %s", name, a, want)
		}
	}
	// A dry run sends no recipe that may write, and runs one that reads.
	if text := w.code(t, "p", w.key, `await gateway.run("writes"); return await gateway.run("three")`, `,"dryRun":true`); !strings.Contains(text, "gateway__writes") || !strings.HasPrefix(text, "3") {
		t.Errorf("dry run: %s", text)
	}
	if a := w.call(t, "p", w.key, "gateway_executeTool", `{"code":"return await gateway.run('three', {a: 1})"}`); !a.Result.IsError {
		t.Errorf("wrong input from code: %+v", a)
	}
}

// TestRecipesOfGoneTools names the tools that are gone to administrators only.
func TestRecipesOfGoneTools(t *testing.T) {
	w := newRecipeWorld(t, modelstest.SQLite(t))
	made := w.api(t, "POST", "/p/recipes", days, 201)
	w.Apply(t, `{"projects":{"p":{"disabledTools":["clock__days_between"]}}}`)
	if got := w.api(t, "GET", "/p/recipes/"+made["id"].(string), "", 200)["missing"]; fmt.Sprint(got) != "[clock__days_between]" {
		t.Errorf("missing: %v", got)
	}
	a := w.call(t, "p", w.key, "gateway__days_until", `{"start":"2026-01-01","end":"2026-03-01"}`)
	if !a.Result.IsError || strings.Contains(a.Result.Content[0].Text, "days_between") {
		t.Errorf("called: %+v", a)
	}
}
