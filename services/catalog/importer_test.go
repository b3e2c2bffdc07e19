package catalog_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
)

func TestBuiltInDataIsLoadedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var file struct {
			Items []map[string]any `json:"items"`
		}
		raw, err := os.ReadFile("data/registry.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		if len(w.catalog.AllEntries()) != len(file.Items) {
			t.Fatalf("%d of %d entries are loaded", len(w.catalog.AllEntries()), len(file.Items))
		}
		for _, item := range file.Items {
			e, err := w.catalog.Entry(item["id"].(string))
			if err != nil {
				t.Fatal(err)
			}
			shown, err := json.Marshal(catalog.NewLegacyItem(e))
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(shown, &got); err != nil {
				t.Fatal(err)
			}
			for field, value := range got {
				if diff := cmp.Diff(item[field], value); diff != "" {
					t.Errorf("%s of %s (-file +catalog):\n%s", field, item["serverName"], diff)
				}
			}
		}
		before := w.revision(t)
		if err := w.store.LoadDefaults(t.Context()); err != nil || w.revision(t) != before {
			t.Errorf("second LoadDefaults() changed the catalog (%v)", err)
		}
		if got := w.audited(t); len(got) != 0 {
			t.Errorf("audit log = %v", got)
		}
	})
}

func TestFileImportIsAtomic(t *testing.T) {
	good := `{"publisherName":"p","serverName":"s","serverType":"stdio","authType":"none","tags":[]}`
	for name, tc := range map[string]struct {
		file  string
		field string
	}{
		"not JSON":           {`x`, "(file)"},
		"another version":    {`{"version":2,"items":[]}`, "version"},
		"items of the wrong": {`{"version":1,"items":{}}`, "(file)"},
		"row of the wrong":   {`{"version":1,"items":[` + good + `,7]}`, "items[1]"},
		"field of a wrong":   {`{"version":1,"items":[{"publisherName":7}]}`, "items[0]"},
		"invalid name":       {`{"version":1,"items":[{"publisherName":"p/q","serverName":"s","serverType":"stdio"}]}`, "items[0]"},
		"invalid transport":  {`{"version":1,"items":[{"publisherName":"p","serverName":"s","serverType":"tcp"}]}`, "items[0]"},
		"no URL":             {`{"version":1,"items":[{"publisherName":"p","serverName":"s","serverType":"http","remoteUrl":"javascript:1"}]}`, "items[0]"},
		"duplicate name":     {`{"version":1,"items":[` + good + `,` + good + `]}`, "items[1]"},
		"invalid template":   {`{"version":1,"items":[{"slug":"A b"}]}`, "items[0]"},
		"invalid difficulty": {`{"version":1,"items":[{"slug":"a","title":"A","difficulty":"hard","createdAt":"2026-01-01T00:00:00Z"}]}`, "items[0]"},
		"invalid time":       {`{"version":1,"items":[{"slug":"a","title":"A","difficulty":"beginner"}]}`, "items[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			w := onSQLite(t)
			before := w.revision(t)
			_, err := w.store.ImportFile(t.Context(), []byte(tc.file), false)
			f := want(t, err, fault.CodeValidationFailed)
			if f.Fields[tc.field] == "" || w.revision(t) != before {
				t.Errorf("fault fields = %v", f.Fields)
			}
		})
	}
}

func TestFileImportErrors(t *testing.T) {
	for file, message := range map[string]string{
		`{"version":"1","items":[]}`:                            "version must be a whole number, not a JSON string",
		`{"version":1,"items":{}}`:                              "items must be a list, not a JSON object",
		`{"version":1,"items":[7]}`:                             "this must be an object, not a JSON number",
		`{"version":1,"items":[{"tags":"a"}]}`:                  "tags must be a list, not a JSON string",
		`{"version":1,"items":[{"tags":[1]}]}`:                  "tags must be a string, not a JSON number",
		`{"version":1,"items":[{"verified":1}]}`:                "verified must be true or false, not a JSON number",
		`{"version":1,"items":[{"slug":"a","steps":"b"}]}`:      "steps must be a list, not a JSON string",
		`{"version":1,"items":[{"slug":7}]}`:                    "slug must be a string, not a JSON number",
		`{"version":1,"items":[{"slug":"a","serverName":"b"}]}`: "split it into two rows",
	} {
		_, err := onSQLite(t).store.ImportFile(t.Context(), []byte(file), false)
		f := want(t, err, fault.CodeValidationFailed)
		if all := fmt.Sprint(f.Fields); !strings.Contains(all, message) || strings.Contains(all, "Go ") {
			t.Errorf("error for %s = %s", file, all)
		}
	}
}

func TestFileImportRejectsUnknownMembers(t *testing.T) {
	const server = `"publisherName":"p","serverName":"s","serverType":"stdio"`
	const template = `"slug":"a","title":"A","difficulty":"beginner","createdAt":"2026-01-01T00:00:00Z"`
	tests := []struct{ name, file, field, want string }{
		{"member of the file", `{"version":1,"items":[],"note":""}`, "(file)", "the member note is unknown"},
		{"case of a member of the file", `{"version":1,"items":[],"Items":[]}`, "(file)", "the member Items is unknown"},
		{"member of a server", `{"version":1,"items":[{` + server + `,"colour":"red"}]}`, "items[0]", "the member colour is unknown"},
		{"case of a member of a server", `{"version":1,"items":[{` + server + `,"verified":false,"VERIFIED":true}]}`, "items[0]", "the member VERIFIED is unknown"},
		{"member of a template", `{"version":1,"items":[{` + template + `,"publisher":"p"}]}`, "items[0]", "the member publisher is unknown"},
		{"case of a member of a template", `{"version":1,"items":[{` + template + `,"Steps":[]}]}`, "items[0]", "the member Steps is unknown"},
		{"case of the slug", `{"version":1,"items":[{` + server + `},{"Slug":"a"}]}`, "items[1]", "the member Slug is unknown"},
		{"repeated member", `{"version":1,"items":[{` + server + `,"title":"x","serverTitle":"a","serverTitle":"b"}]}`, "(file)", "the member items.serverTitle is repeated"},
	}
	for member, address := range map[string]string{
		"iconUrl": "http://example.com/i.png", "repoUrl": "javascript:1", "docsUrl": "/docs", "websiteUrl": "ftp://example.com", "altRemoteUrl": "https://{tenant}.example.com/sse",
	} {
		tests = append(tests, struct{ name, file, field, want string }{
			member, `{"version":1,"items":[{` + server + `,"` + member + `":"` + address + `"}]}`, "items[0]", member + " is invalid",
		})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := onSQLite(t).store.ImportFile(t.Context(), []byte(tt.file), false)
			if f := want(t, err, fault.CodeValidationFailed); !strings.Contains(f.Fields[tt.field], tt.want) {
				t.Errorf("fault fields = %v, want %s: %s", f.Fields, tt.field, tt.want)
			}
		})
	}
}

func TestFileImportAddsUpdatesDeletes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		file := `{"version":1,"items":[
			{"publisherName":"p","serverName":"one","serverType":"stdio","description":"%s","status":"%s"},
			{"slug":"mine","title":"Mine","difficulty":"beginner","createdAt":"2026-12-01T00:00:00Z","steps":["a"],"status":"%s"},
			{"publisherName":"stripe","serverName":"stripe","serverType":"stdio"}]}`
		dry, err := w.store.ImportFile(t.Context(), fmt.Appendf(nil, file, "x", "active", "active"), true)
		if err != nil || dry.Added != 2 || dry.Conflicts != 1 {
			t.Fatalf("dry run plan = %+v (%v)", dry, err)
		}
		if _, err := w.catalog.EntryByName("p", "one"); err == nil {
			t.Error("the dry run added something")
		}
		if plan := w.importFile(t, fmt.Sprintf(file, "x", "active", "active")); plan.Added != 2 || plan.Conflicts != 1 {
			t.Errorf("first import = %+v", plan)
		}
		if plan := w.importFile(t, fmt.Sprintf(file, "x", "active", "active")); plan.Changed() || plan.Unchanged != 2 {
			t.Errorf("second import = %+v", plan)
		}
		if got := w.catalog.AllTemplates()[0].Slug; got != "mine" {
			t.Errorf("newest template = %s", got)
		}
		if plan := w.importFile(t, fmt.Sprintf(file, "y", "deprecated", "deleted")); plan.Updated != 1 || plan.Deleted != 1 {
			t.Errorf("third import = %+v", plan)
		}
		if e, err := w.catalog.EntryByName("p", "one"); err != nil || e.Description != "y" {
			t.Errorf("%+v (%v)", e, err)
		}
		if _, err := w.catalog.Template("mine"); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("Template() of a deleted template: %v", err)
		}
		if e, err := w.catalog.EntryByName("stripe", "stripe"); err != nil || e.SourceID != catalog.SourceDefault || e.ServerType != "http" {
			t.Errorf("import with the name of another source: %+v (%v)", e, err)
		}
		if diff := cmp.Diff([]string{"catalog.imported", "catalog.imported"}, w.audited(t)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
	})
}

func TestFileSource(t *testing.T) {
	w := onSQLite(t)
	server := httptest.NewServer(http.HandlerFunc(func(a http.ResponseWriter, _ *http.Request) { fmt.Fprint(a, rows) }))
	defer server.Close()
	plan, err := w.store.ImportURL(t.Context(), server.URL+"/catalog.json", catalog.Run{})
	if err != nil || plan.Added != 7 {
		t.Fatalf("%+v (%v)", plan, err)
	}
	if plan, err = w.store.ImportURL(t.Context(), server.URL+"/catalog.json", catalog.Run{}); err != nil || plan.Changed() {
		t.Errorf("again: %+v (%v)", plan, err)
	}
	for _, address := range []string{"", "ftp://x", "http://u:p@x/", "http://169.254.169.254/", server.URL + "?a=b"} {
		if _, err := w.store.ImportURL(t.Context(), address, catalog.Run{}); !fault.Is(err, fault.CodeValidationFailed) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestPagesDuringImports walks through the catalog while it changes: a walk
// either visits every row once or ends with CURSOR_STALE.
func TestPagesDuringImports(t *testing.T) {
	withDefaults.Each(t, func(t *testing.T, dsn string) {
		w := start(t, dsn)
		ctx := within(t)
		stop := make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				// Every second import changes nothing.
				file := fmt.Sprintf(`{"version":1,"items":[{"publisherName":"p","serverName":"n%d","serverTitle":"AAA %d","serverType":"stdio","featured":true}]}`, n/2%3, n/6)
				if _, err := w.store.ImportFile(ctx, []byte(file), false); err != nil {
					t.Error(err)
					return
				}
			}
		})
		whole, stale := 0, 0
		for (whole == 0 || stale == 0 || whole+stale < 30) && ctx.Err() == nil {
			search := catalog.Search{Text: []string{"", "mcp", "er"}[(whole+stale)%3], Limit: []int{7, 50}[(whole+stale)%2]}
			seen := map[string]bool{}
			for {
				found, err := w.catalog.Entries(ctx, search)
				if fault.Is(err, fault.CodeCursorStale) {
					stale++
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range found.Rows {
					if seen[e.ID] {
						t.Fatalf("%s was listed twice", e.ID)
					}
					seen[e.ID] = true
				}
				if found.NextCursor == "" {
					if len(seen) != found.Total {
						t.Fatalf("%d of %d rows were listed", len(seen), found.Total)
					}
					whole++
					break
				}
				search.Continue, search.Cursor = true, found.NextCursor
			}
		}
		close(stop)
		running.Wait()
		if whole == 0 || stale == 0 {
			t.Errorf("%d walks completed and %d were stale", whole, stale)
		}
	})
}

func TestCursorStaleOnlyAfterVisibleChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		search := catalog.Search{Text: "search", Limit: 3}
		first, err := w.catalog.Entries(t.Context(), search)
		if err != nil || first.NextCursor == "" {
			t.Fatalf("%+v (%v)", first, err)
		}
		next := catalog.Search{Text: "  search ", Limit: 50, Continue: true, Cursor: first.NextCursor}
		if _, err := w.catalog.Entries(t.Context(), next); err != nil {
			t.Errorf("other white space and limit: %v", err)
		}
		hidden := first.Rows[0].ID
		entry, err := w.store.Entry(t.Context(), hidden)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.db.Model(&models.CatalogEntry{}).Where("id = ?", hidden).Update("auth_type", "bearer").Error; err != nil {
			t.Fatal(err)
		}
		w.importFile(t, `{"version":1,"items":[{"slug":"more","title":"More","difficulty":"beginner","createdAt":"2026-01-01T00:00:00Z"}]}`)
		if _, err := w.catalog.Entries(t.Context(), next); err != nil {
			t.Errorf("after an invisible change: %v", err)
		}
		if err := w.store.SetHidden(t.Context(), hidden, true); err != nil {
			t.Fatal(err)
		}
		_, err = w.catalog.Entries(t.Context(), next)
		if f := want(t, err, fault.CodeCursorStale); !f.Restart || f.Kind != fault.KindConflict {
			t.Errorf("%+v", f)
		}
		other := next
		other.Text = "server"
		_, err = w.catalog.Entries(t.Context(), other)
		want(t, err, fault.CodeInvalidCursor)
		other.Text, other.Cursor = "search", ""
		_, err = w.catalog.Entries(t.Context(), other)
		want(t, err, fault.CodeInvalidCursor)
		_, err = w.catalog.Templates(t.Context(), catalog.Search{Text: "search", Limit: 1, Continue: true, Cursor: first.NextCursor})
		want(t, err, fault.CodeInvalidCursor)
		if err := w.store.SetHidden(t.Context(), entry.ID, false); err != nil {
			t.Fatal(err)
		}
		if _, err := w.catalog.Entries(t.Context(), next); err != nil {
			t.Errorf("after a reverted change: %v", err)
		}
	})
}

func TestLaggingReplicaLoadsBeforeCursorCheck(t *testing.T) {
	withDefaults.Each(t, func(t *testing.T, dsn string) {
		w := start(t, dsn)
		lagging := join(t, dsn)
		if err := lagging.catalog.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.importFile(t, rows)
		first, err := w.catalog.Entries(t.Context(), catalog.Search{Limit: page.DefaultLimit})
		if err != nil {
			t.Fatal(err)
		}
		second, err := lagging.catalog.Entries(t.Context(), catalog.Search{Limit: 10, Continue: true, Cursor: first.NextCursor})
		if err != nil || second.Total != len(builtIn(t))+7 || second.Offset != page.DefaultLimit {
			t.Errorf("%+v (%v)", second, err)
		}
	})
}

func TestUpgradeReplacesUneditedRows(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rows := w.catalog.AllEntries()
		unedited, edited := rows[0], rows[1]
		title := "Ours"
		if err := w.store.Edit(t.Context(), edited.ID, catalog.Edit{ServerTitle: &title}); err != nil {
			t.Fatal(err)
		}
		// As an older version of the built-in data left the rows.
		old := map[string]any{"description": "Old.", "packages": "[]", "variables": "[]", "content_hash": "old"}
		if err := w.db.Model(&models.CatalogEntry{}).Where("id IN ?", []string{unedited.ID, edited.ID}).Updates(old).Error; err != nil {
			t.Fatal(err)
		}
		if err := w.db.Model(&models.CatalogSource{}).Where("id = ?", catalog.SourceDefault).Update("content_hash", "old").Error; err != nil {
			t.Fatal(err)
		}
		if err := w.store.LoadDefaults(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.catalog.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{unedited.ID: unedited.Description, edited.ID: "Old."} {
			if got, err := w.catalog.Entry(id); err != nil || got.Description != want {
				t.Errorf("%s = %+v (%v), want the description %q", id, got, err, want)
			}
		}
	})
}

func TestPackagesOfFile(t *testing.T) {
	const server = `{"version":1,"items":[{"publisherName":"p","serverName":"s","serverType":"stdio","authType":"none",%s}]}`
	each(t, func(t *testing.T, w *world) {
		w.importFile(t, fmt.Sprintf(server, `"packages":[{"type":"npm","identifier":"a","args":["start"]},{"type":"oci","identifier":"b"}],
			"env":[{"name":"K","description":"Key","required":true,"secret":true},{"name":"O","required":null,"secret":false}],
			"featuredRank":null,"packageSource":"list","license":"MIT","lastReleaseAt":"2026-01-31","tools":[{"name":"t","readOnly":null}]`))
		e, err := w.catalog.EntryByName("p", "s")
		if err != nil {
			t.Fatal(err)
		}
		want := models.CatalogEntry{
			PackageType: "npm", PackageIdentifier: "a", Packages: models.CatalogPackages{{Type: "npm", Identifier: "a", Args: []string{"start"}}, {Type: "oci", Identifier: "b"}},
			Variables: models.CatalogVariables{{Name: "K", Description: "Key", Required: new(true), Secret: true}, {Name: "O"}},
		}
		if diff := cmp.Diff([]any{want.PackageType, want.PackageIdentifier, want.Packages, want.Variables}, []any{e.PackageType, e.PackageIdentifier, e.Packages, e.Variables}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	w := onSQLite(t)
	for packages, wrong := range map[string]string{
		`"packages":[{"type":"cargo","identifier":"a"}]`:                                                                                     "must be npm, pypi or oci",
		`"packages":[{"type":"npm","identifier":"a","version":"1"}]`:                                                                         "version is unknown",
		`"packageType":"npm","packageIdentifier":"b","packages":[{"type":"npm","identifier":"a","args":[]},{"type":"oci","identifier":"c"}]`: "must be those of the first package",
		`"env":[{"name":"K","value":"v"}]`:                                                                                                   "value is unknown",
	} {
		_, err := w.store.ImportFile(t.Context(), []byte(fmt.Sprintf(server, packages)), false)
		if f := want(t, err, fault.CodeValidationFailed); !strings.Contains(f.Fields["items[0]"], wrong) {
			t.Errorf("%s: %v", packages, f.Fields)
		}
	}
}

// TestFileImportLimits imports lists of n-1 and n items and rejects n+1, and rows
// without names.
func TestFileImportLimits(t *testing.T) {
	const server = `"publisherName":"p","serverName":"s","serverType":"stdio"`
	const template = `"slug":"a","title":"A","difficulty":"beginner","createdAt":"2026-01-01T00:00:00Z"`
	// list returns n items, in which %d is the number of the item.
	list := func(n int, item string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(item, "%d", fmt.Sprint(i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	load := func(t *testing.T, w *world, row string) string {
		t.Helper()
		_, err := w.store.ImportFile(t.Context(), []byte(`{"version":1,"items":[{`+row+`}]}`), true)
		if err == nil {
			return ""
		}
		return want(t, err, fault.CodeValidationFailed).Fields["items[0]"]
	}
	w := onSQLite(t)
	for _, tt := range []struct {
		row, member, item string
		most              int
	}{
		{server, "tags", `"t%d"`, 30},
		{server, "secretEnv", `"S%d"`, 100},
		{server, "toolNames", `"t%d"`, 5000},
		{server, "tools", `{"name":"t%d","readOnly":null}`, 5000},
		{server, "env", `{"name":"E%d"}`, 100},
		{server, "packages", `{"type":"npm","identifier":"p%d"}`, 10},
		{template, "tags", `"t%d"`, 30},
		{template, "relatedServerNames", `"s%d"`, 30},
		{template, "steps", `"Step %d."`, 30},
	} {
		for _, n := range []int{tt.most - 1, tt.most, tt.most + 1} {
			wrong := ""
			if n > tt.most {
				wrong = fmt.Sprintf("%s has %d items; the maximum is %d", tt.member, n, tt.most)
			}
			if got := load(t, w, tt.row+`,"`+tt.member+`":`+list(n, tt.item)); got != wrong {
				t.Errorf("%d %s: %q, want %q", n, tt.member, got, wrong)
			}
		}
	}
	for _, n := range []int{19, 20, 21} {
		if got := load(t, w, server+`,"packages":[{"type":"npm","identifier":"a","args":`+list(n, `"--x"`)+`}]`); (got == "packages[0].args has 21 items; the maximum is 20") != (n > 20) || n <= 20 && got != "" {
			t.Errorf("%d arguments: %q", n, got)
		}
	}
	for members, wrong := range map[string]string{
		`"packages":[{"type":"npm","identifier":"a"},{"type":"oci"}]`:  "packages[1].identifier must not be empty",
		`"packages":[{"type":"npm","identifier":" \u200b"}]`:           "packages[0].identifier must not be empty",
		`"packages":[{"type":"npm","identifier":"a","args":["b",""]}]`: "packages[0].args[1] must not be empty",
		`"packageType":"npm"`:                                                         "packageIdentifier must not be empty",
		`"env":[{"name":"A"},{"description":"key"}]`:                                  "env[1].name must not be empty",
		`"env":[{"name":"A"},{"name":"\n"}]`:                                          "env[1].name must not be empty",
		`"tools":[{"readOnly":true}]`:                                                 "tools[0].name must not be empty",
		`"env":[{"name":"` + strings.Repeat("A", 129) + `"}]`:                         "env[0].name has 129 characters; the maximum is 128",
		`"packages":[{"type":"npm","identifier":"` + strings.Repeat("a", 201) + `"}]`: "packages[0].identifier has 201 characters; the maximum is 200",
		`"tags":["` + strings.Repeat("a", 51) + `"]`:                                  "tags[0] has 51 characters; the maximum is 50",
	} {
		if got := load(t, w, server+`,`+members); got != wrong {
			t.Errorf("%s: %q, want %q", members, got, wrong)
		}
	}
	for _, members := range []string{
		`"env":[{"name":"` + strings.Repeat("ä", 128) + `"}]`, `"packages":[{"type":"npm","identifier":"` + strings.Repeat("ä", 200) + `"}]`, `"tags":["` + strings.Repeat("ä", 50) + `"]`,
	} {
		if got := load(t, w, server+`,`+members); got != "" {
			t.Errorf("%s: %q", members, got)
		}
	}
	w.importFile(t, `{"version":1,"items":[{`+server+`,"packages":[{"type":"oci","identifier":"a","args":["-e","A","-e","B"]}]}]}`)
	e, err := w.catalog.EntryByName("p", "s")
	if err != nil || len(e.Packages) != 1 || strings.Join(e.Packages[0].Args, " ") != "-e A -e B" {
		t.Errorf("arguments %+v (%v)", e.Packages, err)
	}
}

func TestFactsOfFile(t *testing.T) {
	const server = `{"version":1,"items":[{"publisherName":"p","serverName":"s","serverType":"stdio","authType":"none",%s}]}`
	each(t, func(t *testing.T, w *world) {
		w.importFile(t, fmt.Sprintf(server, `"featured":true,"featuredRank":3,"packageSource":"list","license":"MIT","lastReleaseAt":"2026-01-31",
			"tools":[{"name":"a","readOnly":true},{"name":"b","readOnly":false},{"name":"c","readOnly":null}]`))
		e, err := w.catalog.EntryByName("p", "s")
		if err != nil {
			t.Fatal(err)
		}
		if e.FeaturedRank != 3 || e.PackageSource != "list" || e.License != "MIT" || e.LastReleaseAt == nil || e.LastReleaseAt.Format(time.DateOnly) != "2026-01-31" {
			t.Errorf("facts = %+v", e)
		}
		if diff := cmp.Diff([]models.StringList{{"a", "b", "c"}, {"a"}, {"b"}}, []models.StringList{e.ToolNames, e.ReadTools, e.WriteTools}); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
		w.importFile(t, fmt.Sprintf(server, `"featured":false,"featuredRank":3`))
		if e, err = w.catalog.EntryByName("p", "s"); err != nil || e.FeaturedRank != 0 || e.LastReleaseAt != nil || e.License != "" {
			t.Errorf("without facts = %+v (%v)", e, err)
		}
	})
	w := onSQLite(t)
	for facts, wrong := range map[string]string{
		`"featuredRank":-1`:                   "featuredRank must be from 0",
		`"packageSource":"hearsay"`:           "packageSource must be",
		`"lastReleaseAt":"2026-02-30"`:        "lastReleaseAt must be a date",
		`"lastReleaseAt":"1999-12-31"`:        "lastReleaseAt must be a date",
		`"tools":[{"name":"a","reads":true}]`: "reads is unknown",
	} {
		_, err := w.store.ImportFile(t.Context(), []byte(fmt.Sprintf(server, facts)), false)
		if f := want(t, err, fault.CodeValidationFailed); !strings.Contains(f.Fields["items[0]"], wrong) {
			t.Errorf("%s: %v", facts, f.Fields)
		}
	}
}
