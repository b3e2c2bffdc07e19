//go:build conformance

package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/web/webtest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

// world is a gateway with rows of every kind.
type world struct {
	*routestest.App
	schemas *schemas
	key     string // of gated views
	checked int    // responses
}

// get sends a request as an editor does, without other headers unless the
// view is gated, and returns the decoded response.
func (w *world) get(t *testing.T, path string, status int) map[string]any {
	t.Helper()
	c := webtest.Case{Method: http.MethodGet, Path: path, Header: map[string]string{
		"X-Forwarded-For": fmt.Sprintf("10.0.%d.1", w.checked/50), // requests of an address are limited
	}}
	if strings.HasPrefix(path, "/views/gated/") {
		c.Header["Authorization"] = "Bearer " + w.key
	}
	got := webtest.Send(t, w.App.App, c)
	if got.Status != status {
		t.Fatalf("%s: status %d, want %d; %.500s", path, got.Status, status, got.Body)
	}
	var value map[string]any
	decode(t, []byte(got.Body), &value)
	schema := w.schemas.list
	switch {
	case status == http.StatusNotFound:
		schema = w.schemas.missing
		if text, _ := value["error"].(string); text == "" || len(value) != 1 {
			t.Errorf("%s: %s", path, got.Body)
		}
	case strings.Contains(path, "/versions/"):
		schema = w.schemas.one
		w.checkServer(t, path, value)
	}
	for _, v := range violations(schema, value) {
		t.Errorf("%s violates the schema: %.700s", path, v)
	}
	for _, one := range servers(value) {
		w.checkServer(t, path, one)
	}
	w.checked++
	return value
}

// checkServer validates a server object against the schema of server.json.
func (w *world) checkServer(t *testing.T, path string, one map[string]any) {
	t.Helper()
	server := one["server"].(map[string]any)
	if server["name"] == "com.example/template" { // the API allows addresses that begin with a variable, server.json doesn't
		return
	}
	for _, v := range violations(w.schemas.server, server) {
		t.Errorf("%s: %v violates the schema of server.json: %.700s", path, server["name"], v)
	}
}

func servers(list map[string]any) (all []map[string]any) {
	rows, _ := list["servers"].([]any)
	for _, row := range rows {
		all = append(all, row.(map[string]any))
	}
	return all
}

func nameOf(one map[string]any) string { return one["server"].(map[string]any)["name"].(string) }

func statusOf(one map[string]any) string {
	return one["_meta"].(map[string]any)[sources.OfficialMeta].(map[string]any)["status"].(string)
}

// all returns the names of every page.
func (w *world) all(t *testing.T, path string) (names []string) {
	t.Helper()
	for cursor := ""; ; {
		list := w.get(t, path+cursor, http.StatusOK)
		for _, one := range servers(list) {
			names = append(names, nameOf(one))
		}
		metadata := list["metadata"].(map[string]any)
		if got, want := metadata["count"], float64(len(servers(list))); got != want {
			t.Errorf("%s: count %v, want %v", path+cursor, got, want)
		}
		next, _ := metadata["nextCursor"].(string)
		if next == "" {
			return names
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}

const file = `{"version":1,"items":[
 {"publisherName":"acme","serverName":"everything","serverType":"stdio","version":"2.1.0","description":"` + longText + `","serverTitle":"` + longText + `",
  "tags":["test"],"repoUrl":"https://git.acme.example/everything","websiteUrl":"https://acme.example/ü","iconUrl":"https://acme.example/icon.png",
  "packageType":"npm","packageIdentifier":"@acme/everything",
  "packages":[{"type":"npm","identifier":"@acme/everything","args":["--stdio","serve"],"needs":"a folder"},{"type":"pypi","identifier":"acme"},{"type":"oci","identifier":"acme/everything:2"}],
  "env":[{"name":"ACME_REGION","description":"Region","required":false},{"name":"ACME_KEY","required":true,"secret":true},{"name":"ACME_MODE"}],"secretEnv":["ACME_KEY","ACME_TOKEN"]},
 {"publisherName":"acme","serverName":"header","serverType":"http","remoteUrl":"https://mcp.acme.example/mcp","altRemoteUrl":"https://mcp.acme.example/sse","authType":"header","authHeader":"X-Acme-Key"},
 {"publisherName":"acme","serverName":"bearer","serverType":"http","remoteUrl":"https://mcp.acme.example/bearer","authType":"bearer","status":"deprecated"},
 {"publisherName":"acme","serverName":"sse","serverType":"sse","remoteUrl":"https://mcp.acme.example/events","authType":"oauth"},
 {"publisherName":"acme","serverName":"bare","serverType":"stdio"},
 {"publisherName":"acme","serverName":"hidden","serverType":"stdio","description":"Withdrawn."}
]}`

const longText = "A text of more than one hundred characters, which is the maximum that the official format allows for descriptions and titles."

// foreign are server objects of another registry: two in the official format,
// then those that violate it.
var foreign = []string{
	`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"com.example/good","description":"Good","version":"1.0.0","title":"Good",
	  "packages":[{"registryType":"nuget","identifier":"Good","version":"1.0.0","transport":{"type":"streamable-http","url":"https://{host}/mcp"},
	   "runtimeArguments":[{"type":"named","name":"-v","value":"x"}],"packageArguments":[{"type":"positional","valueHint":"folder"}],"environmentVariables":[{"name":"A","choices":["x"]}]}],
	  "remotes":[{"type":"sse","url":"https://good.example/sse","headers":[{"name":"X-Key","value":"{key}","variables":{"key":{"isSecret":true}}}],"variables":{"a":{"default":"b"}}}],
	  "x-unknown":{"kept":true}}`,
	`{"name":"com.example/template","description":"x","version":"1","packages":[{"registryType":"npm","identifier":"a","transport":{"type":"sse","url":"{base}/sse"}}]}`,
	`{"name":"com.example/undescribed","version":"1.0.0","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/unversioned","description":"x","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/long","description":"` + longText + `","version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/untitled","description":"x","title":"","version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/title","description":"x","title":"` + longText + `","version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/website","description":"x","websiteUrl":"not an address","version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/emptysite","description":"x","websiteUrl":"","version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/repository","description":"x","repository":{"url":"https://a.example"},"version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/norepository","description":"x","repository":{},"version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/icon","description":"x","icons":[{"src":"https://a.example/i.gif","mimeType":"image/gif"}],"version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/sizes","description":"x","icons":[{"src":"https://a.example/i.png","sizes":["big"]}],"version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/theme","description":"x","icons":[{"src":"https://a.example/i.png","theme":"blue"}],"version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/remote","description":"x","version":"1","remotes":[{"type":"sse","url":"https://a.example/sse"},{"type":"websocket","url":"wss://a.example"}]}`,
	`{"name":"com.example/variables","description":"x","version":"1","remotes":[{"type":"sse","url":"https://a.example/sse","variables":{"a":{"format":"date"}}}]}`,
	`{"name":"com.example/header","description":"x","version":"1","remotes":[{"type":"sse","url":"https://a.example/sse","headers":[{"value":"x"}]}]}`,
	`{"name":"com.example/transport","description":"x","version":"1","packages":[{"registryType":"npm","identifier":"a"}],"remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/stdio","description":"x","version":"1","packages":[{"registryType":"npm","identifier":"a","transport":{"type":"pipe"}}]}`,
	`{"name":"com.example/latest","description":"x","version":"1","packages":[{"registryType":"npm","identifier":"a","version":"latest","transport":{"type":"stdio"}}]}`,
	`{"name":"com.example/checksum","description":"x","version":"1","packages":[{"registryType":"npm","identifier":"a","fileSha256":"ABC","transport":{"type":"stdio"}}]}`,
	`{"name":"com.example/argument","description":"x","version":"1","packages":[{"registryType":"npm","identifier":"a","transport":{"type":"stdio"},"packageArguments":[{"type":"positional"}]}]}`,
	`{"name":"com.example/named","description":"x","version":"1","packages":[{"registryType":"npm","identifier":"a","transport":{"type":"stdio"},"runtimeArguments":[{"type":"named","value":"x"}]}]}`,
	`{"name":"com.example/environment","description":"x","version":"1","packages":[{"registryType":"npm","identifier":"a","transport":{"type":"stdio"},"environmentVariables":[{"name":"A","choices":[1]}]}]}`,
	`{"name":"com.example/null","description":"x","version":"1","title":null,"packages":null,"remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
	`{"name":"com.example/meta","description":"x","version":"1","_meta":{"io.modelcontextprotocol.registry/publisher-provided":"x"},"remotes":[{"type":"sse","url":"https://a.example/sse"}]}`,
}

// other serves the list of another registry.
func other(t *testing.T) string {
	t.Helper()
	rows := make([]string, len(foreign))
	for i, server := range foreign {
		rows[i] = `{"server":` + server + `,"_meta":{"` + sources.OfficialMeta + `":{"status":"active","isLatest":true,"publishedAt":"2026-01-31T09:00:00Z","updatedAt":"2026-01-31T09:00:00Z"}}}`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"servers":[%s],"metadata":{"count":%d}}`, strings.Join(rows, ","), len(rows))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{App: routestest.New(t, modelstest.SQLite(t), "GATEWAY_BUILTIN_CATALOG=true", "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32"), schemas: download(t)}
	s := w.Services
	routestest.Eventually(t, "the built-in catalog", func() bool { return len(s.Catalog.AllEntries()) > 0 })
	w.Apply(t, `{"projects":{
	 "open":{"name":"Open","description":"`+longText+`","authMode":"none","published":true},
	 "keys":{"authMode":"api_key","published":true},
	 "people":{"authMode":"oauth","published":true},
	 "private":{"authMode":"none"}}}`)
	for _, slug := range []string{"open", "keys", "people"} {
		w.Toolset(t, slug, models.Toolset{Slug: "few", Name: "Few tools"})
	}
	if plan, err := s.CatalogStore.ImportFile(t.Context(), []byte(file), false); err != nil || plan.Skipped > 0 {
		t.Fatalf("import of the file: %+v (%v)", plan, err)
	}
	plan, err := s.CatalogStore.ImportURL(t.Context(), other(t), catalog.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Added != len(foreign) {
		t.Errorf("%d rows of the other registry were added, want %d: %v", plan.Added, len(foreign), plan.Warnings)
	}
	routestest.Eventually(t, "the imported rows", func() bool {
		_, err := s.Catalog.EntryByName("com.example", "good")
		return err == nil
	})
	w.views(t)
	hidden, err := s.Catalog.EntryByName("acme", "hidden")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CatalogStore.SetHidden(t.Context(), hidden.ID, true); err != nil {
		t.Fatal(err)
	}
	routestest.Eventually(t, "the hidden row", func() bool {
		_, err := s.Catalog.EntryByName("acme", "hidden")
		return err != nil
	})
	return w
}

// views creates a public view of all rows, one of a query, and a gated list.
func (w *world) views(t *testing.T) {
	t.Helper()
	for _, v := range []registries.NewView{
		{Name: "every", Kind: models.ViewQuery}, {Name: "acme", Kind: models.ViewQuery, Query: "publisher:acme"}, {Name: "gated", Kind: models.ViewList, Gated: true},
		{Name: "empty", Kind: models.ViewList},
	} {
		if _, err := w.Services.Registries.Create(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range w.Services.Catalog.AllEntries() {
		if e.IsOwn() || e.PublisherName == "acme" || e.PublisherName == "com.example" {
			if err := w.Services.Registries.AddEntry(t.Context(), "gated", e.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, key, err := w.Services.Registries.CreateKey(t.Context(), registries.NewKey{Name: "Editors"})
	if err != nil {
		t.Fatal(err)
	}
	w.key = key.Reveal()
}

// TestPublishedSchema validates every kind of response of /v0.1 and of views, with
// every row of the catalog.
func TestPublishedSchema(t *testing.T) {
	w := newWorld(t)
	if want := []string{"cursor", "limit", "search", "updated_since", "version", "include_deleted"}; !slices.Equal(w.schemas.parameters, want) {
		t.Errorf("the official list has the parameters %v, want %v", w.schemas.parameters, want)
	}
	shown := map[string]int{"": len(w.Services.Catalog.AllEntries()), "/views/every": len(w.Services.Catalog.AllEntries()), "/views/acme": 5, "/views/gated": 5 + len(foreign) + 6, "/views/empty": 0}
	for base, count := range shown {
		list := base + "/v0.1/servers"
		names := w.all(t, list+"?limit=100")
		if unique := slices.Compact(slices.Sorted(slices.Values(names))); len(names) != count || len(unique) != count {
			t.Errorf("%s has %d names, %d different, want %d", list, len(names), len(unique), count)
		}
		if latest := w.all(t, list+"?limit=50&version=latest"); !slices.Equal(latest, names) {
			t.Errorf("%s has %d latest versions, want %d", list, len(latest), len(names))
		}
		for _, query := range []string{"", "?limit=1", "?search=ACME/", "?search=zzz", "?version=2.1.0", "?version=0", "?updated_since=2026-01-31T09:00:00Z", "?updated_since=2999-01-31T09:00:00.5%2B01:00", "?include_deleted=true&limit=100"} {
			w.get(t, list+query, http.StatusOK)
		}
		w.get(t, list+"/none%2Fnone/versions", http.StatusNotFound)
		w.get(t, list+"/none%2Fnone/versions/latest", http.StatusNotFound)
		w.get(t, list+"/none/versions/latest", http.StatusNotFound)
		w.get(t, list+"/acme%2Fhidden/versions/latest", http.StatusNotFound)
		for i, name := range names {
			one := list + "/" + url.PathEscape(name) + "/versions"
			if base != "/views/every" || i%50 == 0 {
				w.get(t, one+"/latest", http.StatusOK)
			}
			if i%50 == 0 {
				w.get(t, one, http.StatusOK)
				w.get(t, one+"/999.0.0", http.StatusNotFound)
			}
		}
	}
	w.get(t, "/views/none/v0.1/servers", http.StatusNotFound)
	for _, list := range []string{"/v0.1/servers", "/views/gated/v0.1/servers"} {
		one := w.get(t, list+"/acme%2Fhidden/versions/latest?include_deleted=true", http.StatusOK)
		gone := w.get(t, list+"?search=acme/hidden&updated_since=2026-01-31T09:00:00Z", http.StatusOK)
		if len(servers(gone)) != 1 || statusOf(servers(gone)[0]) != "deleted" || statusOf(one) != "deleted" {
			t.Errorf("%s: hidden row %v, %v", list, gone, one)
		}
	}
	t.Logf("%d responses", w.checked)
}

// TestForeignDocuments returns those documents of another registry unchanged that
// are in the official format, and replaces the others.
func TestForeignDocuments(t *testing.T) {
	w := newWorld(t)
	for _, text := range foreign {
		var document map[string]any
		decode(t, []byte(text), &document)
		one := w.get(t, "/v0.1/servers/"+url.PathEscape(document["name"].(string))+"/versions/latest", http.StatusOK)
		got, err := json.Marshal(one["server"])
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		if same := string(got) == string(want); same != (len(violations(w.schemas.one, map[string]any{"server": document})) == 0) {
			t.Errorf("%v is returned as %s", document["name"], got)
		}
	}
}
