package mcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

const orderTool = `{"name":"order","inputSchema":{"type":"object","required":["items"],"additionalProperties":false,"properties":{
	"note":{"type":"string","maxLength":3},"a/b~c":{"type":"boolean"},
	"items":{"type":"array","items":{"type":"object","required":["qty"],"properties":{"qty":{"type":"integer"}}}}}}}`

// validatingApp returns the application and the upstream server up of project p,
// which validates arguments.
func validatingApp(t *testing.T) (*routestest.App, *upstreamtest.Server) {
	t.Helper()
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: []upstreamtest.Tool{
		{Definition: orderTool},
		{Definition: `{"name":"open","inputSchema":{"type":"object","properties":{"a":{"$id":"x.json"}}}}`},
	}})
	app := routestest.New(t, modelstest.SQLite(t))
	app.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","validateArguments":true,"mcpServers":{"up":{"url":%q,"tools":{"order":{"fixed":{"note":"fix"}}}}}}}}`, up.Start(t)))
	app.Sync(t, "p", "up")
	return app, up
}

// TestValidateArguments calls a tool with arguments that don't match its schema, by
// every route, and directly or with the built-in tool.
func TestValidateArguments(t *testing.T) {
	app, up := validatingApp(t)
	up.ForgetRequests()
	invalid := []struct{ arguments, message, path string }{
		{`{"items":[{"qty":"1"}]}`, "items[0].qty: expected integer, got string", `"path":"/items/0/qty"`},
		{`{"items":[{"qty":1},{"qty":1.5}]}`, "items[1].qty: expected integer, got the number 1.5", `"path":"/items/1/qty"`},
		{`{"items":[{}]}`, "items[0]: 'qty' is missing", `"path":"/items/0/qty"`},
		{`{"items":[],"a/b~c":1}`, "['a/b~c']: expected boolean, got the number 1", `"path":"/a~1b~0c"`},
		{`{"item":[]}`, "unknown 'item', did you mean 'items'?", `"path":"/item"`},
		{`{}`, "'items' is missing", `"path":"/items"`},
		{`null`, "'items' is missing", `"path":"/items"`},
		{`{"items":[],"note":"x"}`, "unknown 'note'; known are 'a/b~c', 'items'", `"path":"/note"`}, // fixed by an administrator
	}
	for route, request := range callRoutes() {
		t.Run(route, func(t *testing.T) {
			for _, tt := range invalid {
				for _, params := range []string{
					`{"name":"up__order","arguments":` + tt.arguments + `}`,
					`{"name":"gateway_executeTool","arguments":{"name":"up__order","arguments":` + tt.arguments + `}}`,
				} {
					answer := webtest.Send(t, app.App, request(params))
					message, err := json.Marshal(tt.message)
					if err != nil {
						t.Fatal(err)
					}
					for _, want := range []string{`"code":-32602`, `"code":"INVALID_PARAMETER"`, `"message":` + string(message), tt.path} {
						if !strings.Contains(answer.Body, want) {
							t.Errorf("%s: got %s, want %s", params, answer.Body, want)
						}
					}
				}
			}
		})
	}
	if n := up.Calls(); n != 0 {
		t.Errorf("the upstream got %d calls, want 0", n)
	}
	for _, params := range []string{
		`{"name":"up__order","arguments":{"items":[{"qty":9007199254740993}]}}`,
		`{"name":"up__open","arguments":{"a":7,"b":null}}`, // its schema can't be checked
		`{"name":"up__open"}`,
	} {
		if a := rpc(t, app, "tools/call", params); a.Error != nil || a.Result.IsError {
			t.Errorf("%s: %+v %+v", params, a.Error, a.Result)
		}
	}
	if n := up.Calls(); n != 3 {
		t.Errorf("the upstream got %d calls, want 3", n)
	}
	app.Apply(t, `{"projects":{"p":{"validateArguments":false}}}`)
	if a := rpc(t, app, "tools/call", `{"name":"up__order","arguments":{"items":7}}`); a.Error != nil || up.Calls() != 4 {
		t.Errorf("without validation: %+v, %d calls", a.Error, up.Calls())
	}
}

// TestValidateArgumentsWarns checks that syncs warn about schemas that can't be
// checked while the project validates arguments. A change of that syncs at once.
func TestValidateArgumentsWarns(t *testing.T) {
	app, _ := validatingApp(t)
	warned := func() bool {
		var row models.Inventory
		if err := app.Services.DB.First(&row).Error; err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(row.Warnings, func(w string) bool {
			return strings.HasPrefix(w, `tool "open": its arguments are not checked: `)
		}) && !slices.ContainsFunc(row.Warnings, func(w string) bool { return strings.Contains(w, "order") })
	}
	routestest.Eventually(t, "the sync warns", warned)
	app.Apply(t, `{"projects":{"p":{"validateArguments":false}}}`)
	routestest.Eventually(t, "the warning ends", func() bool { return !warned() })
	app.Apply(t, `{"projects":{"p":{"validateArguments":true}}}`)
	routestest.Eventually(t, "the sync warns again", warned)
}
