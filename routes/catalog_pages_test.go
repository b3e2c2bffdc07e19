package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/catalog"
	"mcpgateway/services/secrets"
)

// catalogWorld is an administrator with an empty catalog.
type catalogWorld struct {
	*browser
	document atomic.Pointer[string] // content of the source
	address  string
}

func newCatalogWorld(t *testing.T) *catalogWorld {
	t.Helper()
	a := routestest.New(t, modelstest.SQLite(t))
	if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: formAdmin, Role: models.RoleAdmin, Password: secrets.NewValue(password)}); err != nil {
		t.Fatal(err)
	}
	w := &catalogWorld{browser: newBrowser(t, a)}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, *w.document.Load()) }))
	t.Cleanup(server.Close)
	w.address = server.URL
	return w
}

// catalogRows returns a document of n rows with a description.
func catalogRows(n int, description string) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"publisherName":"acme","serverName":"s%02d","serverTitle":"Server %02d","serverType":"http","remoteUrl":"https://mcp.example.com/%02d","description":%q}`, i, i, i, description)
	}
	return `{"version":1,"items":[` + strings.Join(rows, ",") + `]}`
}

func (w *catalogWorld) set(document string) { w.document.Store(&document) }

// see fails the test unless a page has the texts.
func (w *catalogWorld) see(t *testing.T, path string, texts ...string) page {
	t.Helper()
	shown := w.send(t, path, nil)
	wantTexts(t, path, shown, texts...)
	return shown
}

func wantTexts(t *testing.T, what string, shown page, texts ...string) {
	t.Helper()
	if shown.Status != http.StatusOK {
		t.Fatalf("%s: status %d, %s", what, shown.Status, shown.Flash)
	}
	for _, text := range texts {
		if !strings.Contains(shown.Body, text) {
			t.Errorf("%s lacks %q", what, text)
		}
	}
}

func (w *catalogWorld) row(t *testing.T, name string) models.CatalogEntry {
	t.Helper()
	var e models.CatalogEntry
	if err := w.Services.DB.First(&e, "server_name = ?", name).Error; err != nil {
		t.Fatal(err)
	}
	return e
}

func TestCatalogSourcePages(t *testing.T) {
	w := newCatalogWorld(t)
	w.set(catalogRows(10, "Old."))
	if bad := w.post(t, "/admin/catalog/sources", values("kind", "file", "url", w.address, "schedule", "yearly")); bad.Status != 422 || !strings.Contains(bad.Body, "Use off, hourly, daily or weekly") {
		t.Errorf("an unknown schedule: %d", bad.Status)
	}
	added := w.post(t, "/admin/catalog/sources", values("kind", "file", "name", "Ours", "url", w.address, "schedule", "hourly"))
	source := added.Location
	w.see(t, source, "Ours", "Never synced", "Next sync", `<option value="hourly" selected>`)
	wantTexts(t, "preview of the first sync", w.post(t, source+"/preview", url.Values{}), "+ acme/s00", "Apply these changes")
	if done := w.post(t, source+"/sync", url.Values{}); done.Flash != "Synced: 10 new, 0 changed, 0 removed." || done.Location != source {
		t.Errorf("first sync = %+v", done)
	}

	w.set(catalogRows(7, "New."))
	held := w.post(t, source+"/preview", url.Values{})
	wantTexts(t, "preview", held, "acme/s00 changes", "description: Old. → New.", "− acme/s09", "3 of 10 entries", "Approve and apply", `name="removals" value="3"`)
	if done := w.post(t, source+"/sync", url.Values{}); done.Flash != "Nothing was applied: 3 removals wait for approval." {
		t.Errorf("held sync: %s", done.Flash)
	}
	w.see(t, source, "3 removals wait for approval", "Waits for approval", "Approve 3 removals")
	w.see(t, "/admin/catalog", "Waits for approval")
	for _, tt := range []struct{ removals, flash string }{
		{"x", "The number of removals is invalid. Open the source and approve again."}, {"2", "Nothing was applied: 3 removals wait for approval."}, {"3", "Synced: 0 new, 7 changed, 3 removed."},
	} {
		if done := w.post(t, source+"/approve", values("removals", tt.removals)); done.Flash != tt.flash {
			t.Errorf("approval of %s: %s", tt.removals, done.Flash)
		}
	}
	w.see(t, "/admin/catalog/"+w.row(t, "s00").ID, "History", "Changed by its source", "description: Old. → New.")

	if bad := w.post(t, source+"/schedule", values("schedule", "yearly")); !strings.Contains(bad.Body, "Use off, hourly, daily or weekly") {
		t.Errorf("an unknown schedule: %d", bad.Status)
	}
	if done := w.post(t, source+"/schedule", values("schedule", "off")); done.Flash != "Schedule saved." {
		t.Errorf("schedule: %+v", done.Flash)
	}
	w.see(t, source, "No sync is planned")
	if unknown := w.send(t, "/admin/catalog/sources/unknown", nil); unknown.Status != http.StatusNotFound {
		t.Errorf("unknown source: %d", unknown.Status)
	}
}

func TestCatalogRowsPage(t *testing.T) {
	w := newCatalogWorld(t)
	if _, err := w.Services.CatalogStore.ImportFile(t.Context(), []byte(catalogRows(60, "Words.")), false); err != nil {
		t.Fatal(err)
	}
	if err := w.Services.CatalogStore.SetHidden(t.Context(), w.row(t, "s01").ID, true); err != nil {
		t.Fatal(err)
	}
	w.see(t, "/admin/catalog/rows", "1–50 of 60", "acme/s01", "acme/s49")
	w.see(t, "/admin/catalog/rows?page=2", "51–60 of 60", "acme/s59")
	w.see(t, "/admin/catalog/rows?page=3", "51–60 of 60")
	if hidden := w.see(t, "/admin/catalog/rows?state=hidden", "1–1 of 1", "acme/s01"); strings.Contains(hidden.Body, "acme/s02") {
		t.Error("the list of hidden entries has others")
	}
	w.see(t, "/admin/catalog/rows?query=publisher%3Aacme+%22Server+05%22", "1–1 of 1", "acme/s05")
	if bad := w.send(t, "/admin/catalog/rows?query=colour%3Ared", nil); bad.Status != http.StatusBadRequest || !strings.Contains(bad.Body, "colour") {
		t.Errorf("an invalid query: %d", bad.Status)
	}

	two := url.Values{"do": {"hide"}, "row": {w.row(t, "s02").ID, w.row(t, "s03").ID}, "back": {"/admin/catalog/rows?page=2"}}
	confirm := w.post(t, "/admin/catalog/rows", two)
	wantTexts(t, "confirmation", confirm, "Hide 2 entries?", "acme/s02", "acme/s03", "Nothing has changed yet")
	if w.row(t, "s02").Hidden {
		t.Error("the confirmation hides entries")
	}
	done := w.post(t, "/admin/catalog/rows/apply", two)
	if done.Flash != "2 entries hidden." || done.Location != "/admin/catalog/rows?page=2" || !w.row(t, "s02").Hidden || !w.row(t, "s03").Hidden {
		t.Errorf("action = %+v", done)
	}
	if undone := w.post(t, "/admin/undo", url.Values{"form": {done.FlashUndo}}); w.row(t, "s02").Hidden || !w.row(t, "s01").Hidden {
		t.Errorf("undo: %+v", undone.Flash)
	}

	// All that match, also on other pages.
	all := values("do", "add-tag", "tag", "crm", "all", "1", "back", "/admin/catalog/rows?query=%22Server+1%22")
	wantTexts(t, "confirmation of all", w.post(t, "/admin/catalog/rows", all), "Add the tag crm to 10 entries?", "acme/s19")
	for _, tt := range []struct {
		form url.Values
		want string
	}{
		{values("do", "hide"), "Select at least one entry."},
		{values("do", "delete", "row", w.row(t, "s02").ID), "Choose an action."},
		{values("do", "add-tag", "row", w.row(t, "s02").ID), "Enter a tag."},
		{values("do", "approve", "view", "x", "row", w.row(t, "s02").ID), "Choose a list."},
	} {
		for _, path := range []string{"/admin/catalog/rows", "/admin/catalog/rows/apply"} {
			if got := w.post(t, path, tt.form); got.Flash != tt.want || got.Location != "/admin/catalog/rows" {
				t.Errorf("%s %v: %q to %s, want %q", path, tt.form, got.Flash, got.Location, tt.want)
			}
		}
	}
	if away := w.post(t, "/admin/catalog/rows/apply", url.Values{"do": {"show"}, "row": two["row"], "back": {"https://example.com/admin/catalog/rows"}}); away.Location != "/admin/catalog/rows" {
		t.Errorf("redirect to %s", away.Location)
	}

	if err := w.Services.DB.Create(&models.CatalogView{ID: "v1", Name: "company", Title: "100 % ours", Kind: models.ViewList}).Error; err != nil {
		t.Fatal(err)
	}
	w.see(t, "/admin/catalog/rows", ">Approve<", `<option value="v1">100 % ours</option>`)
	approve := values("do", "approve", "view", "v1", "row", w.row(t, "s02").ID)
	wantTexts(t, "confirmation of an approval", w.post(t, "/admin/catalog/rows", approve), "Approve 1 entry into the list 100 % ours?")
	if done := w.post(t, "/admin/catalog/rows/apply", approve); done.Flash != "1 entry approved." {
		t.Errorf("approval: %s", done.Flash)
	}
}

func TestCatalogDuplicatesPage(t *testing.T) {
	w := newCatalogWorld(t)
	w.see(t, "/admin/catalog/duplicates", "No duplicates")
	document := `{"version":1,"items":[
		{"publisherName":"a","serverName":"one","serverType":"http","remoteUrl":"https://mcp.example.com/x"},
		{"publisherName":"b","serverName":"two","serverType":"http","remoteUrl":"https://MCP.example.com/x/"}]}`
	if _, err := w.Services.CatalogStore.ImportFile(t.Context(), []byte(document), false); err != nil {
		t.Fatal(err)
	}
	w.see(t, "/admin/catalog/duplicates", "mcp.example.com/x", "a/one", "b/two")
	hidden := w.post(t, "/admin/catalog/"+w.row(t, "two").ID+"/hide", values("hidden", "true", "back", "/admin/catalog/duplicates"))
	if hidden.Location != "/admin/catalog/duplicates" {
		t.Errorf("redirect to %s", hidden.Location)
	}
	w.see(t, "/admin/catalog/duplicates", "No duplicates")
}

func TestCatalogImportPage(t *testing.T) {
	w := newCatalogWorld(t)
	w.see(t, "/admin/catalog/import", "Preview changes")
	for document, want := range map[string]string{
		"": "Choose a file or paste JSON.", "{}": "version", strings.Repeat("x", 600<<10+1): "larger than 600 KiB",
		`{"version":1,"items":[{"publisherName":"a","serverName":"b","serverType":"tcp"}]}`: "items[0]",
	} {
		if got := w.post(t, "/admin/catalog/import", values("document", document)); got.Status != 422 || !strings.Contains(got.Body, want) {
			t.Errorf("%.40q: %d without %q", document, got.Status, want)
		}
	}
	shown := w.post(t, "/admin/catalog/import", values("document", catalogRows(2, "<b>Words</b>")))
	wantTexts(t, "preview", shown, "+ acme/s00", "+ acme/s01")
	if done := w.post(t, "/admin/catalog/import/apply", values("sealed", "x")); !strings.Contains(done.Flash, "expired") {
		t.Errorf("an invalid document: %s", done.Flash)
	}
	if done := w.post(t, "/admin/catalog/import/apply", values("sealed", hiddenField(t, shown.Body, "sealed"))); done.Flash != "Imported: 2 new, 0 changed, 0 removed." || done.Location != "/admin/catalog/sources/"+catalog.SourceFile {
		t.Errorf("import = %+v", done)
	}
	w.see(t, "/admin/catalog/sources/"+catalog.SourceFile, "Imported")
	if again := w.post(t, "/admin/catalog/import", values("document", catalogRows(2, "<b>Words</b>"))); !strings.Contains(again.Body, "Nothing to apply") {
		t.Error("an unchanged file can be applied")
	}
}
