package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/web/webtest"
)

const (
	viewsPath, keysPath   = "/api/catalog/views", "/api/catalog/keys"
	oneView, oneViewEntry = viewsPath + "/{view}", viewsPath + "/{view}/entries/{entryId}"
)

// audits returns the actions recorded for an object, oldest first, with the
// details of the last.
func audits(t *testing.T, a *app, object string) (actions []string, last auditRow) {
	t.Helper()
	var list auditList
	a.admin(t, "GET", "/api/audit?object="+object, "", 200, &list)
	for _, row := range slices.Backward(list.Items) {
		actions, last = append(actions, row.Action), row
	}
	return actions, last
}

func TestCatalogViewsAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		d := readOpenAPI(t, a)
		call := func(method, path, template, body string, status int) map[string]any {
			t.Helper()
			return d.call(t, a, method, path, template, body, status)
		}
		if _, err := a.Services.CatalogStore.ImportFile(t.Context(), []byte(editorRows()), false); err != nil {
			t.Fatal(err)
		}
		routestest.Eventually(t, "the rows of the file", func() bool { return len(a.Services.Catalog.AllEntries()) > 50 })
		entry, err := a.Services.Catalog.EntryByName("acme", "search")
		if err != nil {
			t.Fatal(err)
		}

		team := call("POST", viewsPath, viewsPath, `{"name":"team","kind":"list","gated":true}`, 201)
		if team["title"] != "team" || team["url"] != "http://127.0.0.1:8080/views/team" || team["gated"] != true || team["query"] != "" {
			t.Errorf("created %v", team)
		}
		call("POST", viewsPath, viewsPath, `{"name":"acme","title":"Acme","kind":"query","query":"publisher:acme"}`, 201)
		call("POST", viewsPath, viewsPath, `{"name":"team","kind":"list"}`, 409)
		for _, body := range []string{
			`{"name":"all","kind":"list"}`, `{"name":"Team","kind":"list"}`, `{"name":"x","kind":"tree"}`, `{"name":"x"}`, `{"kind":"list"}`,
			`{"name":"x","kind":"list","query":"y"}`, `{"name":"x","kind":"query","query":"colour:red"}`,
			`{"name":"x","kind":"list","public":true}`, `{"name":"x","kind":"list","Gated":true}`, `{"name":"x","kind":"list","gated":"yes"}`,
			fmt.Sprintf(`{"name":%q,"kind":"list"}`, strings.Repeat("a", registries.MaxName+1)),
			fmt.Sprintf(`{"name":"x","kind":"list","title":%q}`, strings.Repeat("a", registries.MaxTitle+1)),
		} {
			call("POST", viewsPath, viewsPath, body, 422)
		}

		list := call("GET", viewsPath, viewsPath, "", 200)
		if items := list["items"].([]any); len(items) != 2 || items[0].(map[string]any)["name"] != "acme" {
			t.Errorf("listed %v", list)
		}
		path, row := viewsPath+"/team", viewsPath+"/team/entries/"+entry.ID
		call("GET", viewsPath+"/none", oneView, "", 404)
		call("PUT", row, oneViewEntry, "", 204)
		call("PUT", row, oneViewEntry, "", 204)
		call("PUT", viewsPath+"/team/entries/none", oneViewEntry, "", 404)
		call("PUT", viewsPath+"/none/entries/"+entry.ID, oneViewEntry, "", 404)
		call("PUT", viewsPath+"/acme/entries/"+entry.ID, oneViewEntry, "", 409)
		if got := call("GET", path, oneView, "", 200); !slices.Equal(got["entries"].([]any), []any{entry.ID}) {
			t.Errorf("the list is %v", got)
		}

		if got := call("PATCH", path, oneView, `{"title":"Team","gated":false}`, 200); got["title"] != "Team" || got["gated"] != false {
			t.Errorf("changed %v", got)
		}
		call("PATCH", path, oneView, `{}`, 200)
		for _, body := range []string{`{"name":"other"}`, `{"kind":"query"}`, `{"query":"x"}`, `{"entries":[]}`, `{"title":7}`} {
			call("PATCH", path, oneView, body, 422)
		}
		call("PATCH", viewsPath+"/none", oneView, `{"title":"x"}`, 404)
		call("PATCH", viewsPath+"/acme", oneView, `{"query":"\""}`, 422)

		call("DELETE", row, oneViewEntry, "", 204)
		call("DELETE", row, oneViewEntry, "", 404)
		call("DELETE", path, oneView, "", 204)
		call("DELETE", path, oneView, "", 404)

		var all auditList
		a.admin(t, "GET", "/api/audit?limit=50", "", 200, &all)
		var actions []string
		for _, r := range slices.Backward(all.Items) {
			if r.Object == "team" {
				actions = append(actions, r.Action+" "+r.Detail["access"]+" "+r.Detail["entry"]+r.Detail["title"])
			}
		}
		want := []string{
			"catalog.view_created gated ", "catalog.view_entry_added gated acme/search", "catalog.view_changed public Team",
			"catalog.view_entry_removed public acme/search", "catalog.view_deleted public ",
		}
		if !slices.Equal(actions, want) {
			t.Errorf("audited %q, want %q", actions, want)
		}
	})
}

func TestCatalogKeysAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		d := readOpenAPI(t, a)
		call := func(method, path, template, body string, status int) map[string]any {
			t.Helper()
			return d.call(t, a, method, path, template, body, status)
		}
		call("POST", viewsPath, viewsPath, `{"name":"team","kind":"list","gated":true}`, 201)
		read := func(key string, status int) {
			t.Helper()
			if got := a.send(t, "GET", "/views/team/v0.1/servers", key, ""); got.Status != status {
				t.Errorf("read with a key: %d, want %d", got.Status, status)
			}
		}
		expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		made := call("POST", keysPath, keysPath, fmt.Sprintf(`{"name":"Editors","expiresAt":%q}`, expires.Format(time.RFC3339)), 201)
		key, id := made["key"].(string), made["id"].(string)
		at, err := time.Parse(time.RFC3339, made["expiresAt"].(string))
		if !strings.HasPrefix(key, "gwr_") || made["prefix"] != key[:8] || err != nil || at.Sub(expires).Abs() > 2*time.Second {
			t.Errorf("created %v", made)
		}
		fresh := a.admin(t, "POST", keysPath, `{"name":"Forever"}`, 201, nil)
		webtest.Check(t, webtest.Case{WantHeader: map[string]string{"Cache-Control": "no-store"}}, fresh)
		for _, body := range []string{
			`{}`, `{"name":" "}`, `{"name":"a","expiresAt":"tomorrow"}`, `{"name":"a","expiresAt":"2020-01-01T00:00:00Z"}`, `{"name":"a","lifetime":60}`, `{"Name":"a"}`,
			fmt.Sprintf(`{"name":%q}`, strings.Repeat("a", registries.MaxTitle+1)),
		} {
			call("POST", keysPath, keysPath, body, 422)
		}
		read(key, http.StatusOK)
		list := call("GET", keysPath, keysPath, "", 200)
		for _, item := range list["items"].([]any) {
			item := item.(map[string]any)
			if _, shown := item["key"]; shown || (item["lastUsedAt"] != nil) != (item["id"] == id) {
				t.Errorf("listed %v", item)
			}
		}
		if list["count"] != 2.0 {
			t.Errorf("listed %v", list)
		}
		call("DELETE", keysPath+"/none", keysPath+"/{id}", "", 404)
		call("DELETE", keysPath+"/"+id, keysPath+"/{id}", "", 204)
		call("DELETE", keysPath+"/"+id, keysPath+"/{id}", "", 204)
		read(key, http.StatusUnauthorized)
		if actions, last := audits(t, a, id); !slices.Equal(actions, []string{"catalog.key_created", "catalog.key_revoked"}) || last.Object != "Editors" {
			t.Errorf("audited %v, %+v", actions, last)
		}
		if strings.Contains(a.Log.String(), key) || strings.Contains(a.admin(t, "GET", "/api/audit", "", 200, nil).Body, key) {
			t.Error("a key is in the log")
		}
	})
}

// TestReplicasServeViews changes views and projects in one process and reads them in
// another.
func TestReplicasServeViews(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		replica, next := routestest.New(t, a.Services.Config.DatabaseURL, trusting), elsewhere()
		read := func(path string) webtest.Response {
			return webtest.Send(t, replica.App, webtest.Case{Path: path, Header: map[string]string{"X-Forwarded-For": next()}})
		}
		shows := func(path string, names ...string) func() bool {
			return func() bool {
				body := read(path).Body
				for _, name := range names {
					if !strings.Contains(body, `"name":"localhost/`+name+`"`) {
						return false
					}
				}
				return strings.Contains(body, fmt.Sprintf(`"count":%d}`, len(names)))
			}
		}
		const list = "/views/team/v0.1/servers"
		a.admin(t, "POST", viewsPath, `{"name":"team","kind":"query","query":"transport:http"}`, 201, nil)
		if got := read(list); got.Status != 200 || !strings.Contains(got.Body, `"servers":[]`) {
			t.Errorf("new view: %d %s", got.Status, got.Body)
		}
		for _, path := range []string{"/v0.1/health", "/views/team/v0.1/health", "/views/none/v0.1/health"} {
			if got := read(path); got.Status != http.StatusNotFound || !strings.HasPrefix(got.Body, `{"error":"There is no `) {
				t.Errorf("%s: %d %s", path, got.Status, got.Body)
			}
		}
		a.admin(t, "POST", "/api/projects", `{"projectSlug":"p","authMode":"none","published":true}`, 201, nil)
		routestest.Eventually(t, "the published project", shows(list, "p"))
		tag := read(list).Header.Get("ETag")
		a.admin(t, "POST", "/api/projects/p/toolsets", `{"slug":"few","name":"Few"}`, 201, nil)
		routestest.Eventually(t, "the toolset", shows(list, "p", "p.few"))
		if again := read(list).Header.Get("ETag"); again == tag || again == "" {
			t.Errorf("ETag %q after a new row", again)
		}
		a.admin(t, "PATCH", "/api/projects/p", `{"name":"Renamed"}`, 200, nil)
		routestest.Eventually(t, "the new name", func() bool { return strings.Contains(read(list).Body, `"title":"Renamed: Few"`) })
		a.admin(t, "PATCH", "/api/projects/p", `{"authMode":"api_key"}`, 200, nil)
		routestest.Eventually(t, "the header", func() bool { return strings.Contains(read(list).Body, `"name":"Authorization"`) })

		before := read(list).Header.Get("ETag")
		a.admin(t, "PATCH", viewsPath+"/team", `{"query":"transport:sse"}`, 200, nil)
		if got := read(list); !shows(list)() || got.Header.Get("ETag") == before {
			t.Errorf("changed query: %s", got.Body)
		}
		a.admin(t, "PATCH", viewsPath+"/team", `{"gated":true}`, 200, nil)
		for _, path := range []string{list, "/views/team/v0.1/health"} {
			if got := read(path); got.Status != http.StatusUnauthorized {
				t.Errorf("gated view: %s: %d", path, got.Status)
			}
		}
		a.admin(t, "DELETE", viewsPath+"/team", "", 204, nil)
		if got := read(list); got.Status != http.StatusNotFound {
			t.Errorf("deleted view: %d", got.Status)
		}
		a.admin(t, "PATCH", "/api/projects/p", `{"published":false}`, 200, nil)
		routestest.Eventually(t, "the unpublished project", shows("/v0.1/servers"))
		a.admin(t, "PATCH", "/api/projects/p", `{"published":true}`, 200, nil)
		routestest.Eventually(t, "the project published again", shows("/v0.1/servers", "p", "p.few"))
		a.admin(t, "DELETE", "/api/projects/p", "", 204, nil)
		routestest.Eventually(t, "the deleted project", shows("/v0.1/servers"))
	})
}

// TestDeletedRowsOfViews lists rows that were withdrawn, as other registries read them.
func TestDeletedRowsOfViews(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		file := editorRows()
		load := func(document string) {
			t.Helper()
			if _, err := a.Services.CatalogStore.ImportFile(t.Context(), []byte(document), false); err != nil {
				t.Fatal(err)
			}
		}
		load(file)
		routestest.Eventually(t, "the rows of the file", func() bool { return len(a.Services.Catalog.AllEntries()) == 51 })
		for _, body := range []string{`{"name":"acme","kind":"query","query":"publisher:acme"}`, `{"name":"filler","kind":"query","query":"publisher:filler"}`, `{"name":"team","kind":"list"}`} {
			a.admin(t, "POST", viewsPath, body, 201, nil)
		}
		for _, e := range a.Services.Catalog.AllEntries() {
			if e.PublisherName == "acme" && e.ServerName != "search" {
				a.admin(t, "PUT", viewsPath+"/team/entries/"+e.ID, "", 204, nil)
			}
		}
		// later returns a time of the API after all changes so far.
		later := func() string {
			at := time.Now().Truncate(time.Millisecond).Add(2 * time.Millisecond)
			routestest.Eventually(t, "the next millisecond", func() bool { return time.Now().After(at) })
			return at.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		// listed returns the names with their status, and when each was updated.
		listed := func(path string) (rows string, updated map[string]string) {
			t.Helper()
			var list struct {
				Servers []struct {
					Server struct{ Name string }
					Meta   map[string]struct{ Status, UpdatedAt string } `json:"_meta"`
				}
			}
			a.admin(t, "GET", path, "", 200, &list)
			updated = map[string]string{}
			for _, s := range list.Servers {
				mark := s.Meta["io.modelcontextprotocol.registry/official"]
				rows += s.Server.Name + " " + mark.Status + "\n"
				updated[s.Server.Name] = mark.UpdatedAt
			}
			return rows, updated
		}
		want := func(path, rows string) map[string]string {
			t.Helper()
			got, updated := listed(path)
			if got != rows {
				t.Errorf("%s has\n%s, want\n%s", path, got, rows)
			}
			return updated
		}
		since := later()
		want("/views/acme/v0.1/servers?updated_since="+since, "")
		local, err := a.Services.Catalog.EntryByName("acme", "local")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Services.CatalogStore.SetHidden(t.Context(), local.ID, true); err != nil {
			t.Fatal(err)
		}
		load(strings.Replace(file, `"status":"deprecated"`, `"status":"deleted"`, 1))
		routestest.Eventually(t, "the withdrawn rows", func() bool { return len(a.Services.Catalog.AllEntries()) == 49 })
		const gone = "acme/local deleted\nacme/old deleted\n"
		for _, base := range []string{"", "/views/acme", "/views/team"} {
			list := base + "/v0.1/servers"
			want(list+"?updated_since="+since, gone)
			want(list+"?search=acme/lo", "")
			want(list+"?search=acme/lo&include_deleted=true", "acme/local deleted\n")
			for _, path := range []string{"/acme%2Flocal/versions/latest", "/acme%2Fold/versions", "/acme%2Fold/versions/1.0.0"} {
				a.admin(t, "GET", list+path, "", 404, nil)
				a.admin(t, "GET", list+path+"?include_deleted=false", "", 404, nil)
				webtest.Check(t, webtest.Case{WantBody: []string{`"status":"deleted"`}}, a.admin(t, "GET", list+path+"?include_deleted=true", "", 200, nil))
			}
		}
		want("/views/filler/v0.1/servers?updated_since="+since, "")
		a.admin(t, "GET", "/views/filler/v0.1/servers/acme%2Flocal/versions/latest?include_deleted=true", "", 404, nil)

		since = later()
		search, err := a.Services.Catalog.EntryByName("acme", "search")
		if err != nil {
			t.Fatal(err)
		}
		want("/views/team/v0.1/servers?updated_since="+since, "")
		a.admin(t, "PUT", viewsPath+"/team/entries/"+search.ID, "", 204, nil)
		updated := want("/views/team/v0.1/servers?updated_since="+since, "acme/search active\n")
		if updated["acme/search"] < since {
			t.Errorf("added row: updatedAt = %s, want at least %s", updated["acme/search"], since)
		}
		want("/v0.1/servers?updated_since="+since, "")
		a.admin(t, "DELETE", viewsPath+"/team/entries/"+search.ID, "", 204, nil)
		want("/views/team/v0.1/servers?updated_since="+since, "")

		since = later()
		a.admin(t, "PATCH", viewsPath+"/filler", `{"query":"publisher:acme"}`, 200, nil)
		updated = want("/views/filler/v0.1/servers?updated_since="+since, gone+"acme/search active\n")
		if updated["acme/search"] < since {
			t.Errorf("changed query: updatedAt = %s, want at least %s", updated["acme/search"], since)
		}
	})
}
