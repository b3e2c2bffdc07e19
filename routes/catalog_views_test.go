package routes_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/catalog/registries"
)

// TestViewPageAddsPublishedProject adds the endpoint of a published project to a
// list on its page.
func TestViewPageAddsPublishedProject(t *testing.T) {
	w := newCatalogWorld(t)
	w.Apply(t, `{"projects":{"ours":{"name":"Ours","published":true},"private":{"name":"Private"}}}`)
	host := w.Services.Catalog.AllEntries()[slices.IndexFunc(w.Services.Catalog.AllEntries(), (*models.CatalogEntry).IsOwn)].PublisherName
	own, err := w.Services.Catalog.EntryByName(host, "ours")
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.Services.Registries.Create(t.Context(), registries.NewView{Name: "team", Kind: models.ViewList})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Services.Registries.Create(t.Context(), registries.NewView{Name: "found", Kind: models.ViewQuery}); err != nil {
		t.Fatal(err)
	}
	option := `<option value="` + own.ID + `">Ours</option>`
	if shown := w.see(t, "/admin/catalog/views/team", option); strings.Contains(shown.Body, ">Private</option>") {
		t.Error("the page offers a project that isn't published")
	}
	for _, tt := range []struct {
		name, view, entry string
		status            int
		flash             string
	}{
		{"an unknown row", "team", "none", http.StatusNotFound, ""},
		{"an unknown view", "none", own.ID, http.StatusNotFound, ""},
		{"a view of a query", "found", own.ID, http.StatusSeeOther, "has a query"},
		{"a published project", "team", own.ID, http.StatusSeeOther, "Server added to the view."},
	} {
		shown := w.post(t, "/admin/catalog/views/"+tt.view+"/add", values("entry", tt.entry))
		if shown.Status != tt.status || !strings.Contains(shown.Flash, tt.flash) {
			t.Errorf("%s: %d %q, want %d %q", tt.name, shown.Status, shown.Flash, tt.status, tt.flash)
		}
	}
	ids, err := w.Services.Registries.Approved(t.Context(), list.ID)
	if err != nil || !slices.Equal(ids, []string{own.ID}) {
		t.Errorf("approved %v (%v), want %s", ids, err, own.ID)
	}
	if shown := w.see(t, "/admin/catalog/views/team", host+"/ours"); strings.Contains(shown.Body, option) {
		t.Error("the page offers an approved row")
	}
}
