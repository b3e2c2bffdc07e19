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
	remote := listing(t, w, catalog.View{Filter: catalog.Filter{Remote: true}, Limit: 1000})
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
	facets, err := w.catalog.Facets("", catalog.Filter{Remote: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range facets.SignIn {
		found := listing(t, w, catalog.View{Filter: catalog.Filter{Remote: true, SignIn: c.Value}, Limit: 1})
		if found.Total != c.Count || c.Count == 0 {
			t.Errorf("sign-in %s: %d listed, %d counted", c.Value, found.Total, c.Count)
		}
		sum += c.Count
	}
	if here := listing(t, w, catalog.View{Filter: catalog.Filter{Here: true}, Limit: 1000}); here.Total != wantHere || here.Local != 0 || wantHere == 0 {
		t.Errorf("%d servers run here, want %d", here.Total, wantHere)
	}
	if sum != wantRemote || facets.Remote != wantRemote || facets.Local != 0 || facets.Here != len(listing(t, w, catalog.View{Filter: catalog.Filter{Here: true, Remote: true}, Limit: 1000}).Rows) {
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

func TestNearMatches(t *testing.T) {
	w := onSQLite(t)
	works := catalog.Filter{Remote: true}
	for _, tc := range []struct {
		text          string
		filter        catalog.Filter
		words, server string // expected first words, and a server of the listing
	}{
		{"posgres", works, "postgres", "neon"},
		{"githb", works, "github", "github"},
		{"gtihub verified:true", works, "github", "github"},
		{"slakc", catalog.Filter{}, "slack", ""},
		{"postgres unheardofword", works, "postgres", "neon"},
		{"zzzzzzzz", works, "", ""},
		{"tag:nothing", works, "", ""},
		{"x", works, "", ""},
	} {
		near, err := w.catalog.Near(catalog.View{Text: tc.text, Filter: tc.filter, Limit: 24})
		if err != nil {
			t.Fatal(err)
		}
		if near == nil {
			if tc.words != "" {
				t.Errorf("%q: nothing near, want %s", tc.text, tc.words)
			}
			continue
		}
		has := slices.ContainsFunc(near.Rows, func(e *entry) bool { return e.ServerName == tc.server })
		if near.Words != tc.words || tc.server != "" && !has {
			t.Errorf("%q: near %q with %s, want %q with %s", tc.text, near.Words, names(near.Rows), tc.words, tc.server)
		}
		if tc.filter.Remote && slices.ContainsFunc(near.Rows, func(e *entry) bool { return !catalog.Remote(e) }) {
			t.Errorf("%q: %s has local servers", tc.text, names(near.Rows))
		}
	}
	near, err := w.catalog.Near(catalog.View{Text: "posgres", Filter: works, Limit: 24})
	if err != nil || near.Local == 0 || near.Total == 0 {
		t.Errorf("posgres: %d remote and %d local servers, %v", near.Total, near.Local, err)
	}
}
