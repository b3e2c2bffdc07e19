package public_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// checkable starts a server and stores a row of the catalog for it.
func checkable(t *testing.T, a *routestest.App, o upstreamtest.Options) (server *upstreamtest.Server, id string) {
	t.Helper()
	server = upstreamtest.New(o)
	address := server.Start(t)
	if _, err := a.Services.CatalogStore.ImportFile(t.Context(), []byte(`{"version":1,"items":[{"publisherName":"acme","serverName":"orders","serverTitle":"Orders","serverType":"http","remoteUrl":"`+address+`","authType":"none"}]}`), false); err != nil {
		t.Fatal(err)
	}
	e, err := a.Services.Catalog.EntryByName("acme", "orders")
	if err != nil {
		t.Fatal(err)
	}
	return server, e.ID
}

func TestCheckNow(t *testing.T) {
	a := newApp(t)
	server, id := checkable(t, a, upstreamtest.Options{Tools: []upstreamtest.Tool{{Definition: `{"name":"find_orders","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"query":{}}}}`}}})
	cookie, csrf := administrator(t, a)
	const page = "/registry/acme/orders"
	if body := get(t, a, page, 200).Body; strings.Contains(body, "Last check") || strings.Contains(body, "Check now") || strings.Contains(body, "find_orders") {
		t.Error("a page without a check has one")
	}
	check := func(want string) {
		t.Helper()
		answer := webtest.Send(t, a.App, webtest.Case{Method: "POST", Path: "/admin/catalog/" + id + "/check", Body: "csrf=" + url.QueryEscape(csrf), Header: map[string]string{
			"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded", "Origin": "http://127.0.0.1:8080", "X-Forwarded-For": uniqueAddress(),
		}})
		if answer.Status != 303 || answer.Header.Get("Location") != page {
			t.Fatalf("POST: %d %v", answer.Status, answer.Header)
		}
		flash := strings.Split(answer.Header.Get("Set-Cookie"), ";")[0]
		if body := get(t, a, page, 200, "Cookie", cookie+"; "+flash).Body; !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	check("The server responds, with 1 open tool.")
	for _, body := range []string{get(t, a, page, 200).Body, get(t, a, page, 200, "Cookie", cookie).Body} {
		for _, want := range []string{"Last check", "Responds", "2026-07-28", "orders", " UTC"} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		if !strings.Contains(strings.ReplaceAll(body, "<wbr>", ""), "find_orders") {
			t.Error("the page lacks the tool")
		}
	}
	server.SetFault(upstreamtest.Fault{Kind: upstreamtest.Status, Status: 500})
	check("The server doesn&#39;t respond.")
	visitors, administrators := get(t, a, page, 200).Body, get(t, a, page, 200, "Cookie", cookie).Body
	if !strings.Contains(visitors, "Failing since") || strings.Contains(visitors, "HTTP 500") || !strings.Contains(administrators, "HTTP 500") {
		t.Error("only administrators see why a check failed")
	}
	if strings.Contains(visitors, "All checks since") {
		t.Error("a server that fails for the first time is marked")
	}
	since := time.Now().Add(-models.SinkAfter)
	if err := a.Services.DB.Model(&models.CatalogCheck{}).Where("entry_id = ?", id).Update("failing_since", since).Error; err != nil {
		t.Fatal(err)
	}
	check("The server doesn&#39;t respond.")
	if body := get(t, a, page, 200).Body; !strings.Contains(body, "All checks since "+since.UTC().Format("2 Jan 2006")) {
		t.Error("the page does not mark a server that fails for 7 days")
	}
	if body := get(t, a, "/registry?query=publisher:acme", 200).Body; !strings.Contains(body, "Doesn&#39;t respond") {
		t.Error("the card does not mark a server that fails for 7 days")
	}
	server.SetFault(upstreamtest.Fault{Kind: upstreamtest.Status, Status: 401})
	check("The server responds and requires sign-in.")
	if body := strings.ReplaceAll(get(t, a, page, 200).Body, "<wbr>", ""); strings.Contains(body, "find_orders") || strings.Contains(body, "All checks since") {
		t.Error("the page shows what is no longer so")
	}
}

func TestCheckAPI(t *testing.T) {
	a := newApp(t)
	_, id := checkable(t, a, upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: []upstreamtest.Tool{{Definition: `{"name":"find","inputSchema":{"type":"object"}}`}}})
	send := func(id string) webtest.Response {
		return webtest.Send(t, a.App, webtest.Case{Method: "POST", Path: "/api/catalog/rows/" + id + "/check", Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken, "X-Forwarded-For": uniqueAddress()}})
	}
	answer := send(id)
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{
		`{"id":"` + id + `","checkedAt":"20`, `Z","state":"reachable","revision":"2025-11-25","message":null,"failingSince":null,"tools":[{"name":"find","readOnly":null,"parameters":[],"tokens":12}]}`,
	}}, answer)
	webtest.Check(t, webtest.Case{Status: 404, WantBody: []string{`"code":"NOT_FOUND"`}}, send("missing"))
	for _, e := range a.Services.Catalog.AllEntries() {
		if e.RemoteURL == "" {
			webtest.Check(t, webtest.Case{Status: 409, WantBody: []string{`"code":"CONFLICT"`, "runs as a program"}}, send(e.ID))
			break
		}
	}
}
