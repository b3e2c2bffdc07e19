package registries_test

import (
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/fault"
)

func TestViewAttributes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		long := func(n int) string { return strings.Repeat("a", n) }
		for _, tc := range []struct {
			view  registries.NewView
			field string // invalid, or empty
		}{
			{registries.NewView{Name: "a", Kind: models.ViewList}, ""},
			{registries.NewView{Name: "a-1-b", Kind: models.ViewQuery, Query: "transport:http -tag:old"}, ""},
			{registries.NewView{Name: long(49), Kind: models.ViewQuery}, ""},
			{registries.NewView{Name: long(50), Kind: models.ViewQuery}, ""},
			{registries.NewView{Name: long(51), Kind: models.ViewQuery}, "name"},
			{registries.NewView{Kind: models.ViewQuery}, "name"},
			{registries.NewView{Name: "all", Kind: models.ViewQuery}, "name"},
			{registries.NewView{Name: "Team", Kind: models.ViewQuery}, "name"},
			{registries.NewView{Name: "a--b", Kind: models.ViewQuery}, "name"},
			{registries.NewView{Name: "-a", Kind: models.ViewQuery}, "name"},
			{registries.NewView{Name: "a/b", Kind: models.ViewQuery}, "name"},
			{registries.NewView{Name: "ä", Kind: models.ViewQuery}, "name"},
			{registries.NewView{Name: "t99", Title: strings.Repeat("ä", 99), Kind: models.ViewQuery}, ""},
			{registries.NewView{Name: "t100", Title: strings.Repeat("ä", 100), Kind: models.ViewQuery}, ""},
			{registries.NewView{Name: "t101", Title: strings.Repeat("ä", 101), Kind: models.ViewQuery}, "title"},
			{registries.NewView{Name: "line", Title: "a\nb", Kind: models.ViewQuery}, "title"},
			{registries.NewView{Name: "kind"}, "kind"},
			{registries.NewView{Name: "kind", Kind: "other"}, "kind"},
			{registries.NewView{Name: "grammar", Kind: models.ViewQuery, Query: "colour:red"}, "query"},
			{registries.NewView{Name: "q256", Kind: models.ViewQuery, Query: strings.Repeat("a", 100_000)}, "query"},
			{registries.NewView{Name: "listed", Kind: models.ViewList, Query: "x"}, "query"},
		} {
			row, err := w.Create(t.Context(), tc.view)
			if tc.field != "" {
				want(t, tc.view.Name, err, fault.CodeValidationFailed)
				if fields := fault.From(err).Fields; fields[tc.field] == "" || len(fields) != 1 {
					t.Errorf("%+v: invalid %v, want %s", tc.view, fields, tc.field)
				}
				continue
			}
			want(t, tc.view.Name, err, "")
			if row.Title == "" || row.ID == "" {
				t.Errorf("%s: %+v", tc.view.Name, row)
			}
		}
		_, err := w.Create(t.Context(), registries.NewView{Name: "a", Kind: models.ViewList})
		want(t, "name in use", err, fault.CodeConflict)
	})
}

func TestViewLimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		insert(t, w, registries.MaxViews-2, func(i int) models.CatalogView {
			return models.CatalogView{ID: id(i), Name: id(i), Title: id(i), Kind: models.ViewList, CreatedAt: w.now, UpdatedAt: w.now}
		})
		for i, code := range []fault.Code{"", "", fault.CodeConflict} {
			_, err := w.Create(t.Context(), registries.NewView{Name: "n" + id(i), Kind: models.ViewList})
			want(t, id(i), err, code)
		}
		want(t, "delete", w.Delete(t.Context(), id(0)), "")
		_, err := w.Create(t.Context(), registries.NewView{Name: "next", Kind: models.ViewList})
		want(t, "after a deletion", err, "")
	})
}

func TestListLimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		view := w.view(t, "team", models.ViewList)
		insert(t, w, registries.MaxEntries-2, func(i int) models.CatalogViewEntry {
			return models.CatalogViewEntry{ViewID: view.ID, EntryID: id(i), AddedAt: w.now}
		})
		for i, code := range []fault.Code{"", "", fault.CodeConflict} {
			want(t, id(i), w.AddEntry(t.Context(), "team", "n"+id(i)), code)
		}
		want(t, "row of the list", w.AddEntry(t.Context(), "team", id(0)), "")
		views, err := w.Views(t.Context())
		if err != nil || len(views) != 1 || views[0].Entries != registries.MaxEntries {
			t.Errorf("%+v (%v)", views, err)
		}
		want(t, "removal", w.RemoveEntry(t.Context(), "team", id(0)), "")
		want(t, "after a removal", w.AddEntry(t.Context(), "team", "next"), "")
	})
}

func TestListChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.view(t, "team", models.ViewList)
		w.view(t, "query", models.ViewQuery)
		w.now = w.now.Add(time.Hour)
		want(t, "add", w.AddEntry(t.Context(), "team", "a"), "")
		want(t, "add again", w.AddEntry(t.Context(), "team", "a"), "")
		want(t, "unknown row", w.AddEntry(t.Context(), "team", "unknown"), fault.CodeNotFound)
		want(t, "unknown view", w.AddEntry(t.Context(), "none", "a"), fault.CodeNotFound)
		want(t, "view with a query", w.AddEntry(t.Context(), "query", "a"), fault.CodeConflict)
		row, err := w.View(t.Context(), "team")
		if err != nil || !row.UpdatedAt.Equal(w.now) {
			t.Errorf("the view changed at %v, want %v (%v)", row.UpdatedAt, w.now, err)
		}
		want(t, "unknown row of the list", w.RemoveEntry(t.Context(), "team", "b"), fault.CodeNotFound)
		want(t, "remove from unknown view", w.RemoveEntry(t.Context(), "none", "a"), fault.CodeNotFound)
		want(t, "remove", w.RemoveEntry(t.Context(), "team", "a"), "")
		want(t, "add once more", w.AddEntry(t.Context(), "team", "b"), "")
		want(t, "delete", w.Delete(t.Context(), "team"), "")
		want(t, "delete again", w.Delete(t.Context(), "team"), fault.CodeNotFound)
		if ids, err := w.Approved(t.Context(), row.ID); len(ids) > 0 || err != nil {
			t.Errorf("the deleted list has %v (%v)", ids, err)
		}
		w.audited(t, "catalog.view_created", "catalog.view_created", "catalog.view_entry_added", "catalog.view_entry_removed", "catalog.view_entry_added", "catalog.view_deleted")
	})
}

func TestViewChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.view(t, "list", models.ViewList)
		before := w.view(t, "query", models.ViewQuery)
		w.now = w.now.Add(time.Hour)
		row, err := w.Update(t.Context(), "query", registries.Change{Title: new(" query "), Query: new(""), Gated: new(false)})
		want(t, "no difference", err, "")
		if !row.UpdatedAt.Equal(before.UpdatedAt) {
			t.Errorf("changed at %v without a difference", row.UpdatedAt)
		}
		row, err = w.Update(t.Context(), "query", registries.Change{Title: new("Title"), Query: new("transport:http"), Gated: new(true)})
		want(t, "change", err, "")
		if stored, err := w.View(t.Context(), "query"); err != nil || stored.Title != "Title" || stored.Query != "transport:http" || !stored.Gated || !stored.UpdatedAt.Equal(w.now) || stored.ID != row.ID {
			t.Errorf("stored %+v (%v)", stored, err)
		}
		_, err = w.Update(t.Context(), "list", registries.Change{Query: new("x")})
		want(t, "query of a list", err, fault.CodeValidationFailed)
		_, err = w.Update(t.Context(), "query", registries.Change{Query: new(`"`)})
		want(t, "grammar", err, fault.CodeValidationFailed)
		_, err = w.Update(t.Context(), "none", registries.Change{})
		want(t, "unknown", err, fault.CodeNotFound)
		w.audited(t, "catalog.view_created", "catalog.view_created", "catalog.view_changed")
	})
}
