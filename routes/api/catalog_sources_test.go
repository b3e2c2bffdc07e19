package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/services/catalog"
)

// catalogRows serves a document with a number of rows.
func catalogRows(t *testing.T) (address string, rows *atomic.Int64) {
	t.Helper()
	rows = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		items := []string{}
		for i := range rows.Load() {
			items = append(items, fmt.Sprintf(`{"publisherName":"acme","serverName":"s%d","serverType":"stdio"}`, i))
		}
		fmt.Fprintf(w, `{"version":1,"items":[%s]}`, strings.Join(items, ","))
	}))
	t.Cleanup(server.Close)
	return server.URL, rows
}

func TestCatalogSources(t *testing.T) {
	a := onSQLite(t)
	d := readOpenAPI(t, a)
	address, rows := catalogRows(t)
	rows.Store(10)
	const one = "/api/catalog/sources/{id}"
	call := func(method, path, template, body string, status int) map[string]any {
		t.Helper()
		return d.call(t, a, method, path, template, body, status)
	}
	source := call("POST", "/api/catalog/sources", "/api/catalog/sources", `{"kind":"file","url":"`+address+`","name":"Ours"}`, 201)
	if source["schedule"] != "daily" || source["nextAt"] == nil || source["finishedAt"] != nil {
		t.Errorf("new source = %v", source)
	}
	call("POST", "/api/catalog/sources", "/api/catalog/sources", `{"kind":"file","url":"`+address+`"}`, 409)
	call("POST", "/api/catalog/sources", "/api/catalog/sources", `{"kind":"file","url":"`+address+`/2","schedule":"yearly"}`, 422)
	call("POST", "/api/catalog/sources", "/api/catalog/sources", `{"kind":"file","url":"`+address+`/2","interval":"daily"}`, 422)
	path := "/api/catalog/sources/" + source["id"].(string)
	if plan := call("POST", path+"/preview", one+"/preview", "", 200); plan["dryRun"] != true || plan["added"] != 10.0 {
		t.Errorf("preview = %v", plan)
	}
	if plan := call("POST", path+"/run", one+"/run", "", 200); plan["added"] != 10.0 || plan["held"] != false {
		t.Errorf("run = %v", plan)
	}
	call("POST", path+"/approve", one+"/approve", `{"removals":1}`, 409)
	rows.Store(7)
	if plan := call("POST", path+"/run", one+"/run", "", 200); plan["held"] != true || plan["deleted"] != 3.0 || plan["had"] != 10.0 {
		t.Errorf("run that removes 30 %% = %v", plan)
	}
	list := call("GET", "/api/catalog/sources", "/api/catalog/sources", "", 200)
	if last := list["items"].([]any)[int(list["count"].(float64))-1].(map[string]any); last["heldRemovals"] != 3.0 || last["succeeded"] != false {
		t.Errorf("held source = %v", last)
	}
	call("POST", path+"/approve", one+"/approve", `{}`, 422)
	if plan := call("POST", path+"/approve", one+"/approve", `{"removals":2}`, 200); plan["held"] != true {
		t.Errorf("approval of 2 = %v", plan)
	}
	if plan := call("POST", path+"/approve", one+"/approve", `{"removals":3}`, 200); plan["held"] != false || plan["deleted"] != 3.0 {
		t.Errorf("approval of 3 = %v", plan)
	}
	if changed := call("PATCH", path, one, `{"schedule":"off","enabled":false,"name":"Theirs"}`, 200); changed["schedule"] != "off" || changed["enabled"] != false || changed["name"] != "Theirs" || changed["nextAt"] != nil {
		t.Errorf("changed source = %v", changed)
	}
	call("PATCH", path, one, `{"schedule":"yearly"}`, 422)
	call("PATCH", path, one, `{"url":"https://example.com"}`, 422)
	call("POST", path+"/run", one+"/run", "", 409)
	call("POST", "/api/catalog/sources/"+catalog.SourceFile+"/run", one+"/run", "", 409)
	call("POST", "/api/catalog/sources/unknown/run", one+"/run", "", 404)
	call("DELETE", path, one, "", 204)
	call("DELETE", path, one, "", 404)
}
