package servers_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// A key in the query of a server's URL is sent to the server. Pages, records,
// exports and the log must not contain it. Saving an unchanged form must retain it.
func TestQueryValuesMasked(t *testing.T) {
	const canary = "c4nary-of-the-query"
	a := routestest.NewAdmin(t)
	o := demo.Servers()[0]
	o.Record = 100
	up := upstreamtest.New(o)
	address := up.Start(t) + "?api_key=" + canary
	request := httptest.NewRequest(http.MethodPost, "/api/projects/p/servers", strings.NewReader(`{"alias":"keyed","url":"`+address+`"}`))
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Authorization", "Bearer "+routestest.AdminToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	record, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusCreated || !strings.Contains(string(record), "api_key=[secret]") {
		t.Fatalf("status %d: %s (%v)", answer.StatusCode, record, err)
	}
	a.Sync(t, "p", "keyed")
	id := a.ServerID(t, "p", "keyed")
	at := "/admin/projects/p/servers"
	seen := []string{string(record)}
	for _, path := range []string{at, at + "/" + id, at + "/" + id + "/edit", "/admin/export/download", "/admin/audit", "/admin/connections"} {
		status, body, _ := a.Send(t, path, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: status = %d, want 200", path, status)
		}
		seen = append(seen, body)
	}
	form := url.Values{"alias": {"keyed"}, "url": {strings.ReplaceAll(address, canary, "[secret]")}, "transport": {"auto"}, "timeout": {"30"}, "maxConcurrent": {"512"}, "sessionMode": {"shared"}, "definitionPolicy": {"follow"}}
	form.Set("seen", regexp.MustCompile(`name="seen" value="([^"]*)"`).FindStringSubmatch(seen[3])[1])
	if status, body, _ := a.Send(t, at+"/"+id+"/edit", form); status != http.StatusSeeOther {
		t.Fatalf("save: status = %d, want 303: %s", status, body)
	}
	up.ForgetRequests()
	a.Sync(t, "p", "keyed")
	requests := up.Requests()
	if len(requests) == 0 {
		t.Fatal("server received no request")
	}
	for _, r := range requests {
		if r.Query.Get("api_key") != canary {
			t.Errorf("%s: query = %v, want the key", r.Method, r.Query)
		}
	}
	up.Close()
	if _, err := a.Services.Syncer.Sync(t.Context(), id); err == nil {
		t.Error("sync of a stopped server: no error")
	} else {
		seen = append(seen, err.Error())
	}
	for i, text := range append(seen, a.Log.String()) {
		if strings.Contains(text, canary) {
			t.Errorf("text %d contains the value", i)
		}
	}
}

// The wizard must mask the query value of a pasted URL and still store it.
func TestWizardMasksQueryValues(t *testing.T) {
	const canary = "c4nary-of-the-query"
	a := routestest.NewAdmin(t)
	o := demo.Servers()[0]
	o.Record = 100
	up := upstreamtest.New(o)
	at := "/admin/projects/p/servers"
	status, page, _ := a.Send(t, at+"/new", url.Values{"pasted": {up.Start(t) + "?api_key=" + canary}})
	if status != http.StatusOK || strings.Contains(page, canary) || !strings.Contains(page, "api_key=[secret]") {
		t.Fatalf("status = %d, page contains %v", status, regexp.MustCompile(`api_key=[^"&]*`).FindAllString(page, -1))
	}
	form := url.Values{}
	name, value := regexp.MustCompile(` name="([^"]+)"`), regexp.MustCompile(` value="([^"]*)"`)
	for _, input := range regexp.MustCompile(`<input[^>]*>`).FindAllString(page, -1) {
		named, valued := name.FindStringSubmatch(input), value.FindStringSubmatch(input)
		if named != nil && valued != nil && (!strings.Contains(input, `type="radio"`) || strings.Contains(input, " checked")) && !strings.Contains(input, `type="checkbox"`) {
			form.Set(named[1], valued[1])
		}
	}
	for _, chosen := range regexp.MustCompile(`(?s)<select[^>]*name="([^"]+)".*?<option value="([^"]*)"[^>]*selected`).FindAllStringSubmatch(page, -1) {
		form.Set(chosen[1], chosen[2])
	}
	if status, page, _ = a.Send(t, at, form); status != http.StatusSeeOther {
		t.Fatalf("add: status = %d, want 303: %.2000s", status, page[strings.Index(page, "<main"):])
	}
	if requests := up.Requests(); len(requests) == 0 || requests[0].Query.Get("api_key") != canary {
		t.Errorf("server received %v, want the key", requests)
	}
}
