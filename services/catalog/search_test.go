package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
)

// rows is a small catalog with a known result for every query.
const rows = `{"version":1,"items":[
 {"publisherName":"acme","publisherTitle":"Acme Corp","serverName":"git","serverTitle":"Git","serverType":"http","remoteUrl":"https://git.acme.example/mcp","authType":"oauth","tags":["code","version control"],"verified":true,"verifiedEvidence":"domain","featured":true,"description":"Read repositories."},
 {"publisherName":"acme","publisherTitle":"Acme Corp","serverName":"github","serverTitle":"GitHub","serverType":"sse","remoteUrl":"https://gh.acme.example/sse","tags":["code"],"description":"Issues and pull requests."},
 {"publisherName":"beta","publisherTitle":"Beta","serverName":"legit","serverTitle":"Legit Scan","serverType":"stdio","authType":"none","packageType":"npm","packageIdentifier":"@beta/legit","tags":["security"],"verified":true,"verifiedEvidence":"domain","description":"Scan code.","toolNames":["scan"]},
 {"publisherName":"beta","publisherTitle":"Beta","serverName":"notes","serverTitle":"My Git Notes","serverType":"stdio","authType":"none","tags":[],"description":"Write notes."},
 {"publisherName":"gitea","publisherTitle":"Gitea","serverName":"forge","serverTitle":"Forge","serverType":"http","remoteUrl":"https://forge.example/mcp","tags":["hosting"],"description":"Self-hosted."},
 {"publisherName":"delta","publisherTitle":"Delta 100%_x","serverName":"tagged","serverTitle":"Zebra","serverType":"stdio","authType":"none","tags":["git"],"description":"x"},
 {"publisherName":"delta","publisherTitle":"Delta 100%_x","serverName":"described","serverTitle":"Ärger","serverType":"stdio","authType":"none","tags":["tägs"],"description":"Says git somewhere."}
]}`

// only starts a catalog with only rows.
func only(t *testing.T, dsn string) *world {
	t.Helper()
	w := join(t, dsn)
	if err := w.catalog.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.importFile(t, rows)
	return w
}

func TestQueryClauses(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := only(t, dsn)
		for _, tc := range []struct{ query, want string }{
			{"", "acme/git beta/legit gitea/forge acme/github beta/notes delta/tagged delta/described"},
			{"git", "acme/git acme/github beta/notes beta/legit gitea/forge delta/tagged delta/described"},
			{"GIT", "acme/git acme/github beta/notes beta/legit gitea/forge delta/tagged delta/described"},
			{"gi", "acme/git acme/github beta/notes beta/legit gitea/forge delta/tagged delta/described"},
			{"hub", "acme/github"},
			{"ÄRGER", "delta/described"},
			{"ä", "delta/described"},
			{"git code", "acme/git acme/github beta/legit"},
			{`"git notes"`, "beta/notes"},
			{`"pull requests"`, "acme/github"},
			{`"requests pull"`, ""},
			{"git -notes", "acme/git acme/github beta/legit gitea/forge delta/tagged delta/described"},
			{`git -"says git"`, "acme/git acme/github beta/notes beta/legit gitea/forge delta/tagged"},
			{"tag:code", "acme/git acme/github"},
			{"tag:cod", ""},
			{`tag:"version control"`, "acme/git"},
			{"tag:TÄGS", "delta/described"},
			{"tag:security tag:hosting", "beta/legit gitea/forge"},
			{"tag:code transport:sse", "acme/github"},
			{"transport:http transport:sse", "acme/git gitea/forge acme/github"},
			{"-transport:stdio", "acme/git gitea/forge acme/github"},
			{"publisher:acme", "acme/git acme/github"},
			{`publisher:"acme corp"`, "acme/git acme/github"},
			{"publisher:acm", ""},
			{"verified:true", "acme/git beta/legit"},
			{"-verified:true featured:false", "gitea/forge acme/github beta/notes delta/tagged delta/described"},
			{"featured:true", "acme/git"},
			{"type:server git -type:server", "acme/git acme/github beta/notes beta/legit gitea/forge delta/tagged delta/described"},
			{"nothing", ""},
		} {
			if diff := cmp.Diff(tc.want, names(w.entries(t, tc.query).Rows)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.query, diff)
			}
		}
	})
}

func TestInvalidQuerySpans(t *testing.T) {
	w := only(t, modelstest.SQLite(t))
	for query, expected := range map[string]struct {
		code fault.Code
		span fault.Span
	}{
		"ä -colour:red x": {fault.CodeUnknownQualifier, fault.Span{Start: 2, End: 13}},
		"category:dev":    {fault.CodeUnsupportedQualifier, fault.Span{Start: 0, End: 12}},
		"verified:yes":    {fault.CodeInvalidValue, fault.Span{Start: 0, End: 12}},
		`日本 "open`:        {fault.CodeUnterminatedQuote, fault.Span{Start: 3, End: 8}},
		"tag:":            {fault.CodeEmptyValue, fault.Span{Start: 0, End: 4}},
	} {
		_, err := w.catalog.Entries(t.Context(), catalog.Search{Text: query, Limit: 1})
		f := want(t, err, expected.code)
		if f.Span == nil || *f.Span != expected.span {
			t.Errorf("%s: span = %v, want %v", query, f.Span, expected.span)
		}
		if _, err := w.catalog.Facets(query, catalog.Filter{}); !fault.Is(err, expected.code) {
			t.Errorf("Facets(%s): %v", query, err)
		}
	}
}

func TestUnknownTransportWarning(t *testing.T) {
	w := only(t, modelstest.SQLite(t))
	found := w.entries(t, "ä transport:tcp transport:HTTP -transport:x")
	want := []fault.Warning{
		{Code: "UNKNOWN_TRANSPORT", Span: &fault.Span{Start: 2, End: 15}},
		{Code: "UNKNOWN_TRANSPORT", Span: &fault.Span{Start: 31, End: 43}},
	}
	for i := range found.Warnings {
		found.Warnings[i].Message = ""
	}
	if diff := cmp.Diff(want, found.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := w.entries(t, "type:template"); len(found.Warnings) != 1 || found.Total != 7 {
		t.Errorf("another search found %d rows with the warnings %v", found.Total, found.Warnings)
	}
}

func TestTemplateSearch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		find := func(query string) string {
			found, err := w.catalog.Templates(t.Context(), catalog.Search{Text: query, Limit: page.MaxLimit})
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			slugs := make([]string, len(found.Rows))
			for i, row := range found.Rows {
				slugs[i] = row.Slug
			}
			return strings.Join(slugs, " ")
		}
		all := strings.Fields(find(""))
		if len(all) != 24 {
			t.Fatalf("%d templates", len(all))
		}
		rows := w.catalog.AllTemplates()
		for i := 1; i < len(rows); i++ {
			if a, b := rows[i-1], rows[i]; a.CreatedAt.Before(b.CreatedAt) || a.CreatedAt.Equal(b.CreatedAt) && a.ID > b.ID {
				t.Errorf("%s precedes %s", a.Slug, b.Slug)
			}
		}
		for query, want := range map[string]string{
			`"billing support"`:    "billing-support", // title
			"billing-supp":         "billing-support", // slug
			"trace":                "billing-support", // description
			`"finance operations"`: "billing-support", // role
			"paypal":               "billing-support", // related server
			"category:marketing":   strings.TrimSpace(find("category:MARKETING")),
		} {
			if got := find(query); got != want || got == "" {
				t.Errorf("templates for %s = %q, want %q", query, got, want)
			}
		}
		if _, err := w.catalog.Templates(t.Context(), catalog.Search{Text: "transport:http", Limit: 1}); !fault.Is(err, fault.CodeUnsupportedQualifier) {
			t.Errorf("qualifier of the registry: %v", err)
		}
		billing, err := w.catalog.Template("billing-support")
		if err != nil {
			t.Fatal(err)
		}
		if got := names(w.catalog.RelatedEntries(billing)); !strings.HasPrefix(got, "stripe/stripe ") || strings.Count(got, " ") != 2 {
			t.Errorf("related servers = %s", got)
		}
		related := &models.CatalogTemplate{RelatedServerNames: models.StringList{"sentry", "nobody-has-this", "neon"}}
		if got := names(w.catalog.RelatedEntries(related)); got != "sentry/sentry neon/neon" {
			t.Errorf("related entries with several publishers = %s", got)
		}
	})
}

func TestFacets(t *testing.T) {
	w := only(t, modelstest.SQLite(t))
	got, err := w.catalog.Facets("git", catalog.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	want := &catalog.Facets{
		Total: 7, Verified: 2, Featured: 1, Remote: 3, Works: 3, Local: 4, Here: 1, SignIn: []catalog.Count{{Value: "none", Count: 4}, {Value: "key"}, {Value: "oauth", Count: 1}, {Value: "unknown", Count: 2}},
		Transports: []catalog.Count{{"http", "HTTP", 2}, {"sse", "SSE", 1}, {"stdio", "stdio", 4}},
		Tags: []catalog.Count{
			{"code", "code", 2}, {"git", "git", 1}, {"hosting", "hosting", 1}, {"security", "security", 1}, {"tägs", "tägs", 1}, {"version control", "version control", 1},
		},
		Publishers: []catalog.Count{{"acme", "Acme Corp", 2}, {"beta", "Beta", 2}, {"delta", "Delta 100%_x", 2}, {"gitea", "Gitea", 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tag := range got.Tags {
		if found := w.entries(t, `git tag:"`+tag.Value+`"`); found.Total != tag.Count {
			t.Errorf("%s found %d", tag.Value, found.Total)
		}
	}
	all, err := onSQLite(t).catalog.Facets("", catalog.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Tags) != 30 || len(all.Publishers) != 20 || all.Total != len(builtIn(t)) {
		t.Errorf("%d tags and %d publishers of %d rows", len(all.Tags), len(all.Publishers), all.Total)
	}
}

func TestLegacySearch(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := only(t, dsn)
		yes, no := true, false
		for name, tc := range map[string]struct {
			search catalog.Legacy
			want   string
		}{
			"everything":                       {catalog.Legacy{}, "acme/git beta/legit gitea/forge acme/github beta/notes delta/tagged delta/described"},
			"substring":                        {catalog.Legacy{Search: "IT"}, "acme/git beta/legit gitea/forge acme/github beta/notes"},
			"a publisher's title":              {catalog.Legacy{Search: "corp"}, "acme/git acme/github"},
			"not in other fields":              {catalog.Legacy{Search: "requests"}, ""},
			"percent":                          {catalog.Legacy{Search: "g%hub"}, "acme/github"},
			"only a percent sign":              {catalog.Legacy{Search: "%"}, "acme/git beta/legit gitea/forge acme/github beta/notes delta/tagged delta/described"},
			"underscore":                       {catalog.Legacy{Search: "le_it"}, "beta/legit"},
			"underscore matches one character": {catalog.Legacy{Search: "legi_t"}, ""},
			"escaped":                          {catalog.Legacy{Search: `100\%\_x`}, "delta/tagged delta/described"},
			"escaped means itself":             {catalog.Legacy{Search: `g\%hub`}, ""},
			"trailing escape":                  {catalog.Legacy{Search: `git\`}, ""},
			"unicode":                          {catalog.Legacy{Search: "Ä_GER"}, "delta/described"},
			"type":                             {catalog.Legacy{Type: "sse"}, "acme/github"},
			"publisher":                        {catalog.Legacy{Publisher: "beta"}, "beta/legit beta/notes"},
			"tag":                              {catalog.Legacy{Tag: "code"}, "acme/git acme/github"},
			"verified":                         {catalog.Legacy{Verified: &yes}, "acme/git beta/legit"},
			"not verified":                     {catalog.Legacy{Verified: &no, Publisher: "beta"}, "beta/notes"},
			"featured":                         {catalog.Legacy{Featured: &yes}, "acme/git"},
			"tools":                            {catalog.Legacy{RequireTools: true}, "beta/legit"},
			"page":                             {catalog.Legacy{Limit: 2, Offset: 1}, "beta/legit gitea/forge"},
			"behind the end":                   {catalog.Legacy{Offset: 7}, ""},
		} {
			if tc.search.Limit == 0 {
				tc.search.Limit = catalog.LegacyDefaultLimit
			}
			if diff := cmp.Diff(tc.want, names(w.catalog.Legacy(tc.search))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestLegacyPatternsMatchSQL compares with SQLite's own LIKE.
func TestLegacyPatternsMatchSQL(t *testing.T) {
	w := onSQLite(t)
	for _, search := range []string{"a", "%a%", "_", "__", "g_t", "a%b", "%%", "s%r%e", "mcp_", `\_`, `\%`, "a%%b_", "e_%_e", "(", "git%"} {
		var want []string
		err := w.db.Raw(`SELECT id FROM catalog_entries WHERE server_title LIKE ? ESCAPE '\' OR publisher_title LIKE ? ESCAPE '\' ORDER BY id`, "%"+search+"%", "%"+search+"%").Scan(&want).Error
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, e := range w.catalog.Legacy(catalog.Legacy{Search: search, Limit: 1000}) {
			found[e.ID] = true
		}
		got := make([]string, 0, len(found))
		for _, id := range want {
			if found[id] {
				got = append(got, id)
			}
		}
		if len(got) != len(found) || len(got) != len(want) {
			t.Errorf("%s: the database finds %d rows, the catalog %d, both %d", search, len(want), len(found), len(got))
		}
	}
}
