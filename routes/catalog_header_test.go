package routes_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
)

// context7 is the alias in the built-in catalog of a server that requires a
// header.
const context7, context7Header = "context7", "Context7_api_key"

func context7ID(t *testing.T, a *pasteApp) string {
	t.Helper()
	found, err := a.Services.Catalog.Entries(t.Context(), catalog.Search{Text: context7, Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found.Rows {
		if e.ServerName == context7 && e.AuthHeader != "" {
			return e.ID
		}
	}
	t.Fatal("catalog lacks Context7")
	return ""
}

func (a *pasteApp) server(t *testing.T, slug, alias string) models.Server {
	t.Helper()
	row, err := a.Services.Projects.Server(t.Context(), a.ServerID(t, slug, alias))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestCatalogHeaderIsStored(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t), "GATEWAY_BUILTIN_CATALOG=true")
	id := context7ID(t, a)
	check := func(way string, row models.Server, want string) {
		t.Helper()
		stored, there := row.Headers[context7Header]
		if !there || len(row.Headers) != 1 || row.AuthType != models.UpstreamAuthNone {
			t.Fatalf("%s: headers %v, authType %s", way, row.Headers, row.AuthType)
		}
		if stored != "" {
			stored = a.opened(t, stored, "servers/"+row.ID+"/headers/"+context7Header)
		}
		if stored != want {
			t.Errorf("%s: value %q, want %q", way, stored, want)
		}
	}

	a.newProject(t, "registry")
	if status, body := a.submit(t, "/admin/catalog/add", url.Values{"id": {id}, "project": {"registry"}}); status != 303 {
		t.Fatalf("registry page: %d %.300s", status, body)
	}
	check("registry page", a.server(t, "registry", context7), "")

	if status, body := a.submit(t, "/admin/templates/docs-grounded-coding/use", url.Values{"projectSlug": {"template"}}); status != 303 {
		t.Fatalf("template: %d %.300s", status, body)
	}
	check("template", a.server(t, "template", context7), "")
	_, result := a.request(t, "GET", "/admin/templates/docs-grounded-coding/use?project=template", "", "")
	for _, want := range []string{"Project created. 3 of 4 servers ready.", "/admin/projects/template/servers/" + a.server(t, "template", context7).ID + "/edit", "Enter key"} {
		if !strings.Contains(result, want) {
			t.Errorf("the result of the template lacks %q", want)
		}
	}
	if strings.Count(result, "Enter key") != 1 || strings.Contains(result, "/start\"") {
		t.Error("the result has steps for servers without a key")
	}
	if status, body := a.submit(t, "/admin/templates/billing-support/use", url.Values{"projectSlug": {"billing"}}); status != 303 {
		t.Fatalf("template with sign-ins: %d %.300s", status, body)
	}
	if _, result := a.request(t, "GET", "/admin/templates/billing-support/use?project=billing", "", ""); !strings.Contains(result, "Project created. 3 servers left to set up.") || strings.Count(result, "/start\"") != 3 {
		t.Error("the result lacks the servers to connect")
	}

	a.newProject(t, "wizard")
	_, body := a.request(t, "GET", "/admin/projects/wizard/servers/new?entry="+id, "", "")
	page := readPage(t, body)
	if got := page.form.Get("0.headerName"); !strings.EqualFold(got, context7Header) {
		t.Errorf("wizard form has the header %q", got)
	}
	page.form.Set("0.secret", "ctx7sk")
	page.form.Set("untested", "all")
	if status, body := a.submit(t, "/admin/projects/wizard/servers", page.form); status != 303 {
		t.Fatalf("wizard: %d %s", status, regexp.MustCompile(`(?s)<main.*`).FindString(body))
	}
	check("wizard", a.server(t, "wizard", context7), "sealed ctx7sk")
}

func TestMissingHeaderValueReported(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t), "GATEWAY_BUILTIN_CATALOG=true")
	a.newProject(t, "p")
	if status, _ := a.submit(t, "/admin/catalog/add", url.Values{"id": {context7ID(t, a)}, "project": {"p"}}); status != 303 {
		t.Fatal(status)
	}
	row := a.server(t, "p", context7)
	if _, err := a.Services.Syncer.Sync(t.Context(), row.ID); !fault.Is(err, fault.CodeUpstreamUnauthorized) || !strings.Contains(err.Error(), "no value for the header "+context7Header) {
		t.Errorf("Sync() without a value = %v", err)
	}
	at := "/admin/projects/p/servers/" + row.ID
	if _, body := a.request(t, "GET", at, "", ""); !readPage(t, body).shows("headers without a value: " + context7Header) {
		t.Error("server page lacks the missing value")
	}
	_, body := a.request(t, "GET", at+"/edit", "", "")
	credentials := func(body string) formPage { // one of several forms of the page
		_, form, _ := strings.Cut(body, `action="`+at+`/credentials"`)
		form, _, _ = strings.Cut(form, "</form>")
		return readPage(t, "<form "+form)
	}
	page := credentials(body)
	if got := page.form.Get("headerName"); got != context7Header {
		t.Fatalf("form has the header %q", got)
	}
	// Saving other credentials keeps the header.
	if status, body := a.submit(t, at+"/credentials", page.form); status != 303 {
		t.Fatalf("%d %.300s", status, body)
	}
	if _, there := a.server(t, "p", context7).Headers[context7Header]; !there {
		t.Error("header was removed")
	}
	_, body = a.request(t, "GET", at+"/edit", "", "")
	page = credentials(body)
	page.form.Set("headerValue", "ctx7sk")
	if status, body := a.submit(t, at+"/credentials", page.form); status != 303 {
		t.Fatalf("%d %.300s", status, body)
	}
	row = a.server(t, "p", context7)
	if got := a.opened(t, row.Headers[context7Header], "servers/"+row.ID+"/headers/"+context7Header); got != "sealed ctx7sk" {
		t.Errorf("stored %q", got)
	}
}
