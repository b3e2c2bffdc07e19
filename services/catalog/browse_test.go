package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

type entry = models.CatalogEntry

func fold(e *entry) string { return query.Fold(e.ServerTitle) }

func listing(t *testing.T, w *world, v catalog.View) *catalog.Listing {
	t.Helper()
	found, err := w.catalog.Browse(v)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestBrowseFiltersAndOrders(t *testing.T) {
	w := onSQLite(t)
	all := listing(t, w, catalog.View{Limit: 1000})
	remote := listing(t, w, catalog.View{Filter: catalog.Filter{Works: true}, Limit: 1000})
	rows := builtIn(t)
	wantRemote, wantHere := 0, 0
	for i := range rows {
		wantRemote += one(rows[i].RemoteURL != "")
		wantHere += one(len(rows[i].AllPackages()) > 0)
	}
	if all.Total != len(rows) || all.Local != 0 || remote.Total != wantRemote || remote.Local != len(rows)-wantRemote || len(remote.Rows) != wantRemote {
		t.Fatalf("all %d (%d local), remote %d (%d local)", all.Total, all.Local, remote.Total, remote.Local)
	}
	sum := 0
	facets, err := w.catalog.Facets("", catalog.Filter{Works: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range facets.SignIn {
		found := listing(t, w, catalog.View{Filter: catalog.Filter{Works: true, SignIn: c.Value}, Limit: 1})
		if found.Total != c.Count || c.Count == 0 {
			t.Errorf("sign-in %s: %d listed, %d counted", c.Value, found.Total, c.Count)
		}
		sum += c.Count
	}
	if here := listing(t, w, catalog.View{Filter: catalog.Filter{Here: true}, Limit: 1000}); here.Total != wantHere || here.Local != 0 || wantHere == 0 {
		t.Errorf("%d servers run here, want %d", here.Total, wantHere)
	}
	if sum != wantRemote || facets.Remote != wantRemote || facets.Local != 0 || facets.Here != len(listing(t, w, catalog.View{Filter: catalog.Filter{Here: true, Works: true}, Limit: 1000}).Rows) {
		t.Errorf("facets %+v", facets)
	}
	byName := listing(t, w, catalog.View{Sort: catalog.SortName, Limit: 1000}).Rows
	if !slices.IsSortedFunc(byName, func(a, b *entry) int { return strings.Compare(fold(a), fold(b)) }) {
		t.Error("rows are not in the order of their titles")
	}
	newest := listing(t, w, catalog.View{Sort: catalog.SortNewest, Limit: 1000}).Rows
	if !slices.IsSortedFunc(newest, func(a, b *entry) int { return b.CreatedAt.Compare(a.CreatedAt) }) {
		t.Error("rows are not newest first")
	}
	if _, err := w.catalog.Browse(catalog.View{Text: "tags:x"}); !fault.Is(err, fault.CodeUnknownQualifier) {
		t.Errorf("err = %v", err)
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestBrowseParts(t *testing.T) {
	w := onSQLite(t)
	n := len(builtIn(t))
	for _, tc := range []struct{ offset, rows int }{{0, 24}, {n - 15, 15}, {n - 1, 1}, {n, 0}, {n + 1, 0}} {
		if got := len(listing(t, w, catalog.View{Offset: tc.offset, Limit: 24}).Rows); got != tc.rows {
			t.Errorf("offset %d: %d rows, want %d", tc.offset, got, tc.rows)
		}
	}
}

func TestProgramsWorkWithRunner(t *testing.T) {
	w := onSQLite(t)
	rows := builtIn(t)
	wantWorks := 0
	for i := range rows {
		wantWorks += one(catalog.Remote(&rows[i]) || len(rows[i].AllPackages()) > 0)
	}
	filter := catalog.Filter{Works: true, Programs: true}
	found := listing(t, w, catalog.View{Filter: filter, Limit: 1000})
	if found.Total != wantWorks || found.Local != len(rows)-wantWorks || found.Local == 0 {
		t.Errorf("%d servers work here and %d don't, want %d of %d", found.Total, found.Local, wantWorks, len(rows))
	}
	facets, err := w.catalog.Facets("", catalog.Filter{Programs: true})
	if err != nil || facets.Works != wantWorks || facets.Total != len(rows) {
		t.Errorf("facets count %d that work of %d, %v", facets.Works, facets.Total, err)
	}
	if facets, err = w.catalog.Facets("", catalog.Filter{}); err != nil || facets.Works != facets.Remote {
		t.Errorf("without a runner %d work, want the %d remote ones; %v", facets.Works, facets.Remote, err)
	}
}

func TestFeaturedByUse(t *testing.T) {
	w := onSQLite(t)
	first := func(v catalog.View) string {
		v.Limit = 6
		return names(listing(t, w, v).Rows)
	}
	const used = "github/github notion/notion linear/linear stripe/stripe sentry/sentry atlassian/atlassian"
	for _, v := range []catalog.View{{}, {Filter: catalog.Filter{Works: true}}, {Text: "featured:true"}, {Text: "-zzzzzzzz"}} {
		if got := first(v); got != used {
			t.Errorf("%q: %s, want %s", v.Text, got, used)
		}
	}
	// The API and other orders don't have it.
	if got := names(w.entries(t, "").Rows[:6]); got == used {
		t.Errorf("the API has the order of the pages: %s", got)
	}
	if got := first(catalog.View{Sort: catalog.SortName}); got == used {
		t.Errorf("sorted by name: %s", got)
	}
	own := listing(t, w, catalog.View{Text: "blender", Limit: 1}).Rows[0]
	if err := w.store.SetFeatured(t.Context(), own.ID, true); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := first(catalog.View{}); !strings.HasPrefix(got, "ahujasid/blender github/github ") {
		t.Errorf("after an administrator featured a server: %s", got)
	}
}
