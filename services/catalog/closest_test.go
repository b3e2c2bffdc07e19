package catalog_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
)

// leastFound is the minimum number of the searches in testdata/searches.tsv with
// an acceptable row among the first three.
const leastFound = 74

func TestVisitorSearches(t *testing.T) {
	file, err := os.ReadFile("testdata/searches.tsv")
	if err != nil {
		t.Fatal(err)
	}
	c := builtInCatalog(t)
	found, all, literal := 0, 0, 0
	for line := range strings.Lines(string(file)) {
		text, acceptable, _ := strings.Cut(strings.TrimSpace(line), "\t")
		listed, err := c.Browse(catalog.View{Text: text, Limit: 3})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		first := strings.Fields(names(listed.Rows[:min(3, len(listed.Rows))]))
		all++
		switch {
		case !slices.ContainsFunc(first, func(name string) bool { return slices.Contains(strings.Fields(acceptable), name) }):
			t.Logf("%s (closest: %t): %s", text, listed.Closest, strings.Join(first, " "))
		case !listed.Closest:
			literal++
			fallthrough
		default:
			found++
		}
	}
	t.Logf("%d of %d searches find an acceptable server, %d of them literally", found, all, literal)
	if all != 80 || found < leastFound {
		t.Errorf("%d of %d searches find an acceptable server among the first three, want %d of 80", found, all, leastFound)
	}
}

// builtInCatalog returns a catalog of the built-in rows without a database.
func builtInCatalog(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	rows := builtIn(tb)
	list := make([]*models.CatalogEntry, len(rows))
	for i := range rows {
		list[i] = &rows[i]
		list[i].ID = query.Fold(rows[i].PublisherName + "/" + rows[i].ServerName)
	}
	c, err := catalog.Of(list, nil, page.NewCursors(ring(tb)))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestClosestEntries(t *testing.T) {
	c := builtInCatalog(t)
	for _, tc := range []struct {
		text  string
		first string // beginning of the names of the rows; empty if there are none
	}{
		{"gihub", "github/github github/github-official"},
		{"slakc", "slack/slack"},
		{"stirpe verified:true transport:http", "stripe/stripe"},
		{"stirpe transport:stdio", "stripe/stripe-local"},
		{"gihub -official", "github/github asyncfuncai/github-chat"},
		{"gihub -publisher:github", "asyncfuncai/github-chat"},
		{`"notoin pages"`, "notion/notion"},
		{"notoin mcp server", "notion/notion"},
		{"Notoin-MCP-API", "notion/notion"},
		{"how do I book a flihgt to Paris", "kiwi/kiwi"},
		{"mcp servers api zzzzzzzz", ""},
		{"zzzzzzzz", ""},
		{"tag:nothing", ""},
		{"-gihub", ""},
		{"gihub tag:nothing", ""},
	} {
		rows, err := c.Closest(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(rows); !strings.HasPrefix(got, tc.first) || tc.first == "" && got != "" {
			t.Errorf("Closest(%q) = %s, want %q first", tc.text, got, tc.first)
		}
	}
	if _, err := c.Closest("tags:x"); !fault.Is(err, fault.CodeUnknownQualifier) {
		t.Errorf("err = %v", err)
	}
}

func TestClosestHaveNoExcludedWord(t *testing.T) {
	c := builtInCatalog(t)
	rows, err := c.Closest("posgres database -neon")
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, e := range rows {
		if strings.Contains(query.Fold(e.ServerTitle+e.PublisherTitle+e.ServerName+e.Description), "neon") {
			t.Errorf("%s has an excluded word", e.ServerTitle)
		}
	}
}

func TestClosestLimit(t *testing.T) {
	for _, n := range []int{catalog.MaxClosest - 1, catalog.MaxClosest, catalog.MaxClosest + 1} {
		rows := manyRows(t, n)
		for _, e := range rows {
			e.ServerTitle = "Quokka"
		}
		c, err := catalog.Of(rows, nil, page.NewCursors(ring(t)))
		if err != nil {
			t.Fatal(err)
		}
		found, err := c.Closest("quoka")
		if err != nil || len(found) != min(n, catalog.MaxClosest) {
			t.Errorf("%d of %d rows, %v", len(found), n, err)
		}
	}
}

func TestClosestListing(t *testing.T) {
	w := onSQLite(t)
	every := listing(t, w, catalog.View{Text: "posgres", Limit: 24})
	if !every.Closest || every.Total != 0 || every.Local != 0 || len(every.Rows) != catalog.MaxClosest {
		t.Fatalf("closest: %t, %d in total, %d rows, %d local", every.Closest, every.Total, len(every.Rows), every.Local)
	}
	works := listing(t, w, catalog.View{Text: "posgres", Filter: catalog.Filter{Works: true}, Limit: 24})
	local := 0
	for _, e := range every.Rows {
		local += one(!catalog.Remote(e))
	}
	if !works.Closest || works.Local != local || local == 0 || len(works.Rows) == 0 || slices.ContainsFunc(works.Rows, func(e *entry) bool { return !catalog.Remote(e) }) {
		t.Errorf("works here: %s and %d local, want %d", names(works.Rows), works.Local, local)
	}
	facets, err := w.catalog.Facets("posgres", catalog.Filter{Works: true})
	if err != nil || facets.Total != len(works.Rows) || facets.Remote != len(works.Rows) {
		t.Errorf("facets %+v, %v; want those of %d rows", facets, err, len(works.Rows))
	}
	// Servers that match, but not the filter, are not close: they match.
	if found := listing(t, w, catalog.View{Text: "kubectl", Filter: catalog.Filter{Works: true}, Limit: 24}); found.Closest || found.Local == 0 || len(found.Rows) > 0 {
		t.Errorf("kubectl: closest %t, %d local, %s", found.Closest, found.Local, names(found.Rows))
	}
	for _, text := range []string{"zzzzzzzz", "mcp server zzzzzzzz", "tag:nothing"} {
		if found := listing(t, w, catalog.View{Text: text, Limit: 24}); found.Closest || len(found.Rows) > 0 {
			t.Errorf("%q: %s", text, names(found.Rows))
		}
	}
}
