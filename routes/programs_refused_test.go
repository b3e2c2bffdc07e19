package routes_test

import (
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/catalog"
)

// noCommandWorld is an administrator who attempts to start a program that writes a
// file.
type noCommandWorld struct {
	*pasteApp
	marker string // the file
}

func newNoCommandWorld(t *testing.T) *noCommandWorld {
	t.Helper()
	w := &noCommandWorld{pasteApp: newPasteApp(t, modelstest.SQLite(t)), marker: filepath.Join(t.TempDir(), "started")}
	w.newProject(t, "p")
	t.Cleanup(func() {
		if _, err := os.Stat(w.marker); err == nil {
			t.Error("a program was started")
		}
		var programs int64
		if err := w.Services.DB.Model(&models.Server{}).Where("entry <> '' OR source <> ''").Count(&programs).Error; err != nil || programs > 0 {
			t.Errorf("%d programs are stored, %v", programs, err)
		}
	})
	return w
}

// saidTo reports whether a response contains a text, which HTML and JSON escape.
func saidTo(body, text string) bool {
	text = strings.ReplaceAll(text, `\"`, `"`)
	quoted := strings.ReplaceAll(text, `"`, `\"`)
	return strings.Contains(html.UnescapeString(body), text) || strings.Contains(body, quoted)
}

// formWith returns a form with other values.
func formWith(form url.Values, name, value string) url.Values {
	with := maps.Clone(form)
	with[name] = []string{value}
	return with
}

func TestWizardTakesNoCommand(t *testing.T) {
	w := newNoCommandWorld(t)
	const servers = "/admin/projects/p/servers"
	_, body := w.submit(t, servers+"/new", url.Values{"pasted": {`{"mcpServers":{"x":{"url":"http://127.0.0.1:9/mcp"}}}`}})
	form := readPage(t, body).form
	form.Set("untested", "all")
	for _, step := range []string{servers, servers + "/new/check"} {
		for field, value := range map[string]string{"command": "touch", "args": w.marker, "env": "A=b", "envFile": "/etc/passwd", "cwd": "/", "type": "stdio", "transport": "stdio"} {
			want := commandsRefused
			if field == "transport" {
				want = transportRefused
			}
			if status, body := w.submit(t, step, formWith(form, "0."+field, value)); status != 422 || !saidTo(body, want) {
				t.Errorf("%s with %s: %d %s", step, field, status, body)
			}
		}
		if status, body := w.submit(t, step, formWith(form, "0.transport", "connector")); status != 422 || !saidTo(body, transportRefused) {
			t.Errorf("%s with the transport connector: %d %s", step, status, body)
		}
	}
	for _, pasted := range []string{fmt.Sprintf(`{"mcpServers":{"x":{"command":"touch","args":[%q]}}}`, w.marker), "npx " + w.marker} {
		status, body := w.submit(t, servers+"/new", url.Values{"pasted": {pasted}})
		page := readPage(t, body)
		if status != 200 || !page.shows("Runs on a computer") {
			t.Errorf("%s: %d", pasted, status)
		}
		page.form.Set("0.add", "on")
		page.form.Set("0.url", "http://127.0.0.1:9/mcp")
		page.form.Set("untested", "all")
		w.submit(t, servers, page.form)
	}
	if stored := w.stored(t, "p"); len(stored) > 0 {
		t.Errorf("stored %v", stored)
	}
}

// catalogFile is a file of the catalog with a program, and one with a command.
const catalogFile = `{"version":1,"items":[
	{"publisherName":"acme","serverName":"notes","serverType":"stdio","authType":"none","packageType":"npm","packageIdentifier":"notes"},
	{"publisherName":"acme","serverName":"bad","serverType":"stdio","authType":"none","packageType":"npm","packageIdentifier":"bad"%s},
	{"slug":"only-programs","title":"Only programs","description":"Takes notes.","role":"Writer","category":"docs","difficulty":"beginner","estimatedSetupMinutes":5,
		"tags":["notes"],"relatedServerNames":["notes"],"steps":["Take a note."],"createdAt":"2026-01-01T00:00:00Z"}]}`

func TestCatalogTakesNoCommand(t *testing.T) {
	w := newNoCommandWorld(t)
	for key, value := range map[string]string{"command": `"touch"`, "args": `["x"]`, "env": `{"A":"b"}`, "envFile": `"x"`, "cwd": `"/"`, "type": `"stdio"`, "transport": `"stdio"`} {
		file := fmt.Sprintf(catalogFile, fmt.Sprintf(",%q:%s", key, value))
		if _, err := w.Services.CatalogStore.ImportFile(t.Context(), []byte(file), false); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("import with %s: %v", key, err)
		}
	}
	source := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, catalogFile, `,"command":"touch"`)
	}))
	t.Cleanup(source.Close)
	if _, err := w.Services.CatalogStore.ImportURL(t.Context(), source.URL+"/registry.json", catalog.Run{}); err == nil || !strings.Contains(err.Error(), "command") {
		t.Errorf("import from a URL with a command: %v", err)
	}
	if _, err := w.Services.CatalogStore.ImportFile(t.Context(), fmt.Appendf(nil, catalogFile, ""), false); err != nil {
		t.Fatal(err)
	}
	found, err := w.Services.Catalog.Entries(t.Context(), catalog.Search{Text: "acme", Limit: 50})
	if err != nil || len(found.Rows) == 0 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, entry := range found.Rows {
		if entry.PublisherName != "acme" {
			continue
		}
		for _, more := range []url.Values{{}, {"command": {"touch"}, "args": {w.marker}}, {"url": {"http://127.0.0.1:9/mcp"}, "transport": {"stdio"}}} {
			more.Set("id", entry.ID)
			more.Set("project", "p")
			if status, body := w.submit(t, "/admin/catalog/add", more); status == 200 {
				t.Errorf("adding %s with %v: %d %s", entry.ServerName, more, status, body)
			}
		}
	}
	if status, body := w.submit(t, "/admin/templates/only-programs/use", url.Values{"projectSlug": {"t"}, "command": {"touch"}}); status != 303 {
		t.Errorf("template: %d %s", status, body)
	}
	for _, slug := range []string{"p", "t"} {
		if servers := w.stored(t, slug); len(servers) > 0 {
			t.Errorf("project %s has the servers %v", slug, servers)
		}
	}
}
