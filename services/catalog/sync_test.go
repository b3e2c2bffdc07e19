package catalog_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/changes"
	"mcpgateway/services/catalog/importer"
	"mcpgateway/services/fault"
)

// documentServer serves a document in the catalog's own format with an ETag.
type documentServer struct {
	*httptest.Server
	mu       sync.Mutex
	rows     []string
	status   int      // of the next responses, or 0
	received []string // If-None-Match of each request
}

func newDocumentServer(t *testing.T, rows ...string) *documentServer {
	t.Helper()
	d := &documentServer{rows: rows}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.received = append(d.received, r.Header.Get("If-None-Match"))
		body := `{"version":1,"items":[` + strings.Join(d.rows, ",") + `]}`
		etag := fmt.Sprintf("\"%x\"", sha256.Sum256([]byte(body)))
		w.Header().Set("ETag", etag)
		switch {
		case d.status != 0:
			w.WriteHeader(d.status)
		case r.Header.Get("If-None-Match") == etag:
			w.WriteHeader(http.StatusNotModified)
		default:
			fmt.Fprint(w, body)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *documentServer) set(status int, rows ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status, d.rows = status, rows
}

func (d *documentServer) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.received...)
}

// numbered returns n rows from row number first on.
func numbered(first, n int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"publisherName":"acme","serverName":"s%03d","serverType":"stdio","authType":"none"}`, first+i)
	}
	return rows
}

// add adds a source for the document and syncs it.
func (w *world) add(t *testing.T, d *documentServer) models.CatalogSource {
	t.Helper()
	source, err := w.store.AddSource(t.Context(), catalog.NewSource{Kind: models.CatalogFile, Name: "Test", URL: d.URL + "/c.json"})
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{}); err != nil || plan.Added != len(d.rows) {
		t.Fatalf("first sync = %+v (%v)", plan, err)
	}
	return source
}

func (w *world) source(t *testing.T, id string) models.CatalogSource {
	t.Helper()
	row, err := w.store.Source(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestCapOfRemovals(t *testing.T) {
	for _, tt := range []struct {
		name     string
		had, now int
		held     bool
	}{
		{"19 of 100", 100, 81, false}, {"20 of 100", 100, 80, false}, {"21 of 100", 100, 79, true}, {"1 of 5", 5, 4, false}, {"1 of 4", 4, 3, true}, {"all", 1, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := onSQLite(t)
			d := newDocumentServer(t, numbered(0, tt.had)...)
			source := w.add(t, d)
			before := w.revision(t)
			d.set(0, numbered(tt.had-tt.now, tt.now)...)
			preview, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{DryRun: true})
			if err != nil || preview.Held != tt.held || preview.Deleted != tt.had-tt.now || preview.Had != tt.had {
				t.Fatalf("preview = %+v (%v)", preview, err)
			}
			plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{})
			if err != nil || plan.Held != tt.held {
				t.Fatalf("sync = %+v (%v)", plan, err)
			}
			row := w.source(t, source.ID)
			if tt.held != (row.HeldRemovals == int64(tt.had-tt.now)) || tt.held == (row.HeldAt == nil) || tt.held == row.Succeeded || tt.held != (w.revision(t) == before) {
				t.Errorf("source = %+v", row)
			}
		})
	}
}

func TestHeldSyncNeedsApproval(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := newDocumentServer(t, numbered(0, 10)...)
		source := w.add(t, d)
		before := len(w.catalog.AllEntries())
		_, err := w.store.ApproveRemovals(t.Context(), source.ID, 3)
		want(t, err, fault.CodeConflict)
		// Of a held run nothing is applied, additions neither.
		d.set(0, numbered(3, 8)...)
		for range 2 {
			if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{}); err != nil || !plan.Held || plan.Deleted != 3 || plan.Added != 1 {
				t.Fatalf("sync = %+v (%v)", plan, err)
			}
		}
		if got := len(w.catalog.AllEntries()); got != before {
			t.Fatalf("%d entries, want %d", got, before)
		}
		held := w.source(t, source.ID)
		if held.HeldRemovals != 3 || held.HeldAt == nil || !held.HeldAt.Before(*held.FinishedAt) {
			t.Errorf("held source = %+v", held)
		}
		// More removals than approved wait again, with their number.
		d.set(0, numbered(4, 7)...)
		if plan, err := w.store.ApproveRemovals(t.Context(), source.ID, 3); err != nil || !plan.Held || plan.Deleted != 4 {
			t.Fatalf("approval of too few = %+v (%v)", plan, err)
		}
		if row := w.source(t, source.ID); row.HeldRemovals != 4 || len(w.catalog.AllEntries()) != before {
			t.Errorf("source = %+v", row)
		}
		if _, err := w.store.ApproveRemovals(t.Context(), source.ID, 0); !fault.Is(err, fault.CodeValidationFailed) {
			t.Errorf("approval of nothing: %v", err)
		}
		if plan, err := w.store.ApproveRemovals(t.Context(), source.ID, 4); err != nil || plan.Held || plan.Deleted != 4 || plan.Added != 1 {
			t.Fatalf("approval = %+v (%v)", plan, err)
		}
		if row := w.source(t, source.ID); row.HeldRemovals != 0 || row.HeldAt != nil || !row.Succeeded || len(w.catalog.AllEntries()) != before-3 {
			t.Errorf("source = %+v", row)
		}
		if diff := cmp.Diff([]string{"catalog.source_added", "catalog.imported", "catalog.imported"}, w.audited(t)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
	})
}

func TestWithdrawnRemovalsNeedNoApproval(t *testing.T) {
	w := onSQLite(t)
	d := newDocumentServer(t, numbered(0, 10)...)
	source := w.add(t, d)
	d.set(0, numbered(5, 5)...)
	if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{}); err != nil || !plan.Held {
		t.Fatalf("%+v (%v)", plan, err)
	}
	d.set(0, numbered(0, 10)...)
	if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{}); err != nil || !plan.Same {
		t.Errorf("sync of the former document = %+v (%v)", plan, err)
	}
	if row := w.source(t, source.ID); row.HeldRemovals != 0 || row.HeldAt != nil || !row.Succeeded {
		t.Errorf("source = %+v", row)
	}
}

func TestImportURLRemovals(t *testing.T) {
	w := onSQLite(t)
	d := newDocumentServer(t, numbered(0, 10)...)
	address := d.URL + "/c.json"
	first, err := w.store.ImportURL(t.Context(), address, catalog.Run{})
	if err != nil || w.source(t, first.Source).Schedule != models.ScheduleDaily {
		t.Fatalf("%+v (%v)", first, err)
	}
	d.set(0, numbered(3, 7)...)
	for _, tt := range []struct {
		approved int
		held     bool
	}{{0, true}, {2, true}, {3, false}} {
		plan, err := w.store.ImportURL(t.Context(), address, catalog.Run{Approved: tt.approved})
		if err != nil || plan.Held != tt.held {
			t.Errorf("import with %d approved = %+v (%v)", tt.approved, plan, err)
		}
	}
}

func TestUnchangedDocumentIsNotRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := newDocumentServer(t, numbered(0, 3)...)
		source := w.add(t, d)
		plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{})
		if err != nil || !plan.Same || plan.Changed() {
			t.Errorf("second sync = %+v (%v)", plan, err)
		}
		if row := w.source(t, source.ID); !row.Succeeded || row.Added != 0 || row.Fetched != 3 || row.StartedAt == nil || !row.StartedAt.Before(*row.FinishedAt) {
			t.Errorf("source = %+v", row)
		}
		if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{DryRun: true}); err != nil || plan.Unchanged != 3 {
			t.Errorf("preview = %+v (%v)", plan, err)
		}
		// A reset row follows the document again, which must be read for that.
		e, err := w.catalog.EntryByName("acme", "s001")
		if err != nil {
			t.Fatal(err)
		}
		title := "Ours"
		if err := w.store.Edit(t.Context(), e.ID, catalog.Edit{ServerTitle: &title}); err != nil {
			t.Fatal(err)
		}
		if err := w.store.Unlock(t.Context(), e.ID); err != nil {
			t.Fatal(err)
		}
		if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{}); err != nil || plan.Updated != 1 {
			t.Errorf("sync after a reset = %+v (%v)", plan, err)
		}
		known := d.requests()[1]
		if diff := cmp.Diff([]string{"", known, "", ""}, d.requests()); diff != "" || known == "" {
			t.Errorf("If-None-Match (-want +got):\n%s", diff)
		}
	})
}

func TestFailingSourceIsRecorded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := newDocumentServer(t, numbered(0, 3)...)
		source := w.add(t, d)
		before := w.revision(t)
		d.set(http.StatusInternalServerError)
		_, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{})
		want(t, err, fault.CodeUpstreamUnavailable)
		if row := w.source(t, source.ID); row.Succeeded || row.ErrorCode != string(fault.CodeUpstreamUnavailable) || w.revision(t) != before {
			t.Errorf("source = %+v", row)
		}
		d.set(0, numbered(0, 4)...)
		if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{}); err != nil || plan.Added != 1 {
			t.Errorf("next sync = %+v (%v)", plan, err)
		}
		if row := w.source(t, source.ID); !row.Succeeded || row.ErrorMessage != "" {
			t.Errorf("source = %+v", row)
		}
	})
}

func TestMissingRowsOfDocuments(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rows := append(numbered(0, 10), `{"slug":"tour","title":"Tour","difficulty":"beginner","createdAt":"2026-01-01T00:00:00Z"}`)
		d := newDocumentServer(t, rows...)
		source := w.add(t, d)
		locked, err := w.catalog.EntryByName("acme", "s000")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Edit(t.Context(), locked.ID, catalog.Edit{Description: new(string)}); err != nil {
			t.Fatal(err)
		}
		// The edited row, another one and the template are missing.
		d.set(0, numbered(2, 8)...)
		plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{})
		if err != nil || plan.Deleted != 2 || plan.Locked != 1 || plan.Had != 11 {
			t.Fatalf("%+v (%v)", plan, err)
		}
		if _, err := w.catalog.EntryByName("acme", "s000"); err != nil {
			t.Errorf("the edited row: %v", err)
		}
		for _, err := range []error{second(w.catalog.EntryByName("acme", "s001")), second(w.catalog.Template("tour"))} {
			if !fault.Is(err, fault.CodeNotFound) {
				t.Errorf("a missing row: %v", err)
			}
		}
		d.set(0, numbered(1, 9)...)
		if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{}); err != nil || plan.Updated != 1 {
			t.Errorf("sync with a row that is back = %+v (%v)", plan, err)
		}
		if _, err := w.catalog.EntryByName("acme", "s001"); err != nil {
			t.Errorf("a row that is back: %v", err)
		}
		// Uploaded files add to each other.
		w.importFile(t, `{"version":1,"items":[{"publisherName":"ours","serverName":"a","serverType":"stdio"}]}`)
		if plan := w.importFile(t, `{"version":1,"items":[{"publisherName":"ours","serverName":"b","serverType":"stdio"}]}`); plan.Deleted != 0 || plan.Added != 1 {
			t.Errorf("second file = %+v", plan)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestRenamedRowIsNotRemoved(t *testing.T) {
	w := onSQLite(t)
	const id = "0d6c6d5e-43b2-5f19-9c53-9d7b3e1d9f10"
	row := func(name string) string {
		return `{"id":"` + id + `","publisherName":"acme","serverName":"` + name + `","serverType":"stdio"}`
	}
	d := newDocumentServer(t, row("old"))
	source := w.add(t, d)
	d.set(0, row("new"))
	plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{})
	if err != nil || plan.Updated != 1 || plan.Deleted != 0 || plan.Held {
		t.Fatalf("%+v (%v)", plan, err)
	}
	if len(plan.Changes) != 1 || len(plan.Changes[0].Members) == 0 || plan.Changes[0].Members[0].String() != "old → new" {
		t.Errorf("changes = %+v", plan.Changes)
	}
}

func TestPlanShowsChangedMembers(t *testing.T) {
	w := onSQLite(t)
	row := `{"version":1,"items":[{"publisherName":"p","serverName":"s","serverType":"stdio","description":%q,"tags":[%s]}]}`
	w.importFile(t, fmt.Sprintf(row, "Old.", `"a","b"`))
	plan := w.importFile(t, fmt.Sprintf(row, "", `"b","c"`))
	var got []string
	for _, m := range plan.Changes[0].Members {
		got = append(got, m.Name+": "+m.String())
	}
	if diff := cmp.Diff([]string{"description: Old. → –", "tags: a → c"}, got); diff != "" || plan.Changes[0].Action != importer.ActionUpdate {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUpdateSource(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := newDocumentServer(t, numbered(0, 1)...)
		source := w.add(t, d)
		weekly, off, bad, empty, name := models.ScheduleWeekly, models.ScheduleOff, models.CatalogSchedule("yearly"), " ", "Renamed"
		if err := w.store.UpdateSource(t.Context(), source.ID, catalog.SourceChange{Name: &name, Schedule: &weekly}); err != nil {
			t.Fatal(err)
		}
		if row := w.source(t, source.ID); row.Name != name || row.Schedule != weekly {
			t.Errorf("source = %+v", row)
		}
		for _, tt := range []struct {
			id     string
			change catalog.SourceChange
			code   fault.Code
		}{
			{"unknown", catalog.SourceChange{Name: &name}, fault.CodeNotFound},
			{source.ID, catalog.SourceChange{Schedule: &bad}, fault.CodeValidationFailed},
			{source.ID, catalog.SourceChange{Name: &empty}, fault.CodeValidationFailed},
			{catalog.SourceDefault, catalog.SourceChange{Schedule: &weekly}, fault.CodeValidationFailed},
		} {
			want(t, w.store.UpdateSource(t.Context(), tt.id, tt.change), tt.code)
		}
		if err := w.store.UpdateSource(t.Context(), catalog.SourceDefault, catalog.SourceChange{Schedule: &off}); err != nil {
			t.Error(err)
		}
		_, err := w.store.AddSource(t.Context(), catalog.NewSource{Kind: models.CatalogFile, URL: d.URL + "/2.json", Schedule: "yearly"})
		want(t, err, fault.CodeValidationFailed)
		if diff := cmp.Diff([]string{"catalog.source_added", "catalog.imported", "catalog.source_updated"}, w.audited(t)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
	})
}

func TestImportsAndDecisionsWriteHistory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		row := `{"version":1,"items":[{"publisherName":"p","serverName":"s","serverType":"stdio","description":%q,"status":%q}]}`
		w.importFile(t, fmt.Sprintf(row, "Old.", "active"))
		e, err := w.catalog.EntryByName("p", "s")
		if err != nil {
			t.Fatal(err)
		}
		w.importFile(t, fmt.Sprintf(row, "New.", "active"))
		w.importFile(t, fmt.Sprintf(row, "New.", "active")) // changes nothing
		if err := w.store.SetFeatured(t.Context(), e.ID, true); err != nil {
			t.Fatal(err)
		}
		w.importFile(t, fmt.Sprintf(row, "New.", "deleted"))
		rows, err := changes.List(w.db, e.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range rows {
			got = append(got, fmt.Sprint(c.Action, " ", c.Detail))
		}
		want := []string{"import.delete map[]", "catalog.featured map[featured:false → true]", "import.update map[description:Old. → New.]"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	})
}
