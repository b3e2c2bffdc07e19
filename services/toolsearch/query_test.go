package toolsearch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
)

func desk() *toolset.Snapshot {
	return newFixture("desk").
		server("files", nil,
			`{"name":"read","description":"Open it","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}},"annotations":{"readOnlyHint":true}}`,
			`{"name":"read_all","description":"Open everything","inputSchema":{"type":"object"},"annotations":{"destructiveHint":false,"title":"Read all files"}}`,
			`{"name":"bulkRead","title":"Bulk","description":"Open many","inputSchema":{"type":"object"}}`,
			`{"name":"spread","description":"Lay out","inputSchema":{"type":"object","properties":{"nested":{"type":"object","properties":{"deepOption":{"type":"string"}}}}},"annotations":{"destructiveHint":true}}`).
		server("readers", nil, tool("list", "List them")).
		server("misc", nil, tool("describe", "Who can read this"),
			`{"name":"ask","description":"Ask","inputSchema":{"type":"object","properties":{"thread":{"type":"string"}}}}`,
			`{"name":"STRASSE","description":"Café \"quoted\" back\\slash","inputSchema":{"type":"object"}}`).
		snapshot()
}

func TestQueryRanksByMatchPosition(t *testing.T) {
	s, project := newSearcher(t), desk()
	a := byQuery(t, s, project, `{"query":"read"}`)
	if want := "files__read files__read_all files__bulkRead files__spread readers__list misc__describe misc__ask"; a.names() != want {
		t.Errorf("got  %s\nwant %s", a.names(), want)
	}
	last := 100.0
	for _, r := range a.Results {
		if r.Score == nil || *r.Score >= last {
			t.Errorf("%s: score %v after %v", r.Name, r.Score, last)
			continue
		}
		last = *r.Score
	}
}

func TestQueryFiltersLiterally(t *testing.T) {
	s, project := newSearcher(t), desk()
	all := "files__bulkRead files__read files__read_all files__spread misc__STRASSE misc__ask misc__describe readers__list"
	for _, tc := range []struct{ query, want string }{
		{``, all},
		{`   `, all},
		{`type:tool`, all},
		{`server:files`, "files__bulkRead files__read files__read_all files__spread"},
		{`server:FILES read`, "files__read files__read_all files__bulkRead files__spread"},
		{`server:file`, ""},
		{`server:misc server:readers`, "misc__STRASSE misc__ask misc__describe readers__list"},
		{`-server:files -server:misc`, "readers__list"},
		{`name:read`, "files__bulkRead files__read files__read_all files__spread"},
		{`name:files`, "files__read_all"},
		{`name:files__read`, "files__read files__read_all"},
		{`param:path`, "files__read"},
		{`param:option`, "files__spread"},
		{`deepoption`, "files__spread"},
		{`param:string`, ""},
		{`readonly:true`, "files__read"},
		{`readonly:false server:files`, "files__bulkRead files__read_all files__spread"},
		{`destructive:false`, "files__read files__read_all"},
		{`-destructive:true`, "files__read files__read_all"},
		{`destructive:true server:files`, "files__bulkRead files__spread"},
		{`files__read`, "files__read files__read_all"},
		{`files`, "files__read_all files__bulkRead files__read files__spread"},
		{`read -all`, "files__read files__bulkRead files__spread readers__list misc__describe misc__ask"},
		{`"read all"`, "files__read_all"},
		{`open many`, "files__bulkRead"},
		{`straße`, "misc__STRASSE"},
		{`CAFÉ`, "misc__STRASSE"},
		{`"\"quoted\" back\\slash"`, "misc__STRASSE"},
		{`reads`, ""},
		{`re*d`, ""},
	} {
		a := byQuery(t, s, project, fmt.Sprintf(`{"query":%s}`, quoted(tc.query)))
		if a.names() != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.query, a.names(), tc.want)
		}
	}
}

func TestQueryResultFormat(t *testing.T) {
	s, project := newSearcher(t), desk()
	for _, tc := range []struct{ arguments, want string }{
		{`{"query":"read path","includeSchema":true}`, `{"results":[{"name":"files__read","server":"files","title":"read","description":"Open it","score":8,"inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}],"count":1,"nextCursor":null,"warnings":[],"coverage":{"kind":"complete"}}`},
		{`{"query":"name:bulk"}`, `{"results":[{"name":"files__bulkRead","server":"files","title":"Bulk","description":"Open many"}],"count":1,"nextCursor":null,"warnings":[],"coverage":{"kind":"complete"}}`},
		{`{"query":"\"read all\""}`, `{"results":[{"name":"files__read_all","server":"files","title":"Read all files","description":"Open everything","score":6}],"count":1,"nextCursor":null,"warnings":[],"coverage":{"kind":"complete"}}`},
		{`{"query":"nothinglikeit"}`, `{"results":[],"count":0,"nextCursor":null,"warnings":[],"coverage":{"kind":"complete"}}`},
	} {
		raw, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "p"}, []byte(tc.arguments))
		if err != nil || string(raw) != tc.want {
			t.Errorf("%s\n got %s %v\nwant %s", tc.arguments, raw, err, tc.want)
		}
	}
	if a := byQuery(t, s, project, `{"query":"type:template list"}`); len(a.Warnings) != 1 || a.Warnings[0].Span == nil {
		t.Errorf("result of the fixed type = %+v", a.Warnings)
	}
}

func TestShortenedNameIsFoundByBothNames(t *testing.T) {
	long := strings.Repeat("report_", 20) + "end"
	f := newFixture("short").server("a", nil, tool(long, "x"), tool("other", "x"))
	f.source.Project.ToolNameLimit = 64
	s, project := newSearcher(t), f.snapshot()
	short := project.Tools[0].Name
	if len(short) != 64 {
		t.Fatalf("the name is %q", short)
	}
	for _, query := range []string{short, "a__" + long} {
		if a := byQuery(t, s, project, asQuery(query)); a.names() != short || *a.Results[0].Score != 7 {
			t.Errorf("%s found %q", query, a.names())
		}
	}
}

func TestQueryArguments(t *testing.T) {
	s, project := newSearcher(t), desk()
	for _, tc := range []struct {
		arguments string
		code      fault.Code
		span      string
	}{
		{`{"query":5}`, fault.CodeInvalidParameter, ""},
		{`{"query":null}`, fault.CodeInvalidParameter, ""},
		{`{"query":"x","limit":0}`, fault.CodeInvalidParameter, ""},
		{`{"query":"x","limit":1}`, "", ""},
		{`{"query":"x","limit":49}`, "", ""},
		{`{"query":"x","limit":50}`, "", ""},
		{`{"query":"x","limit":50.0}`, "", ""},
		{`{"query":"x","limit":51}`, fault.CodeInvalidParameter, ""},
		{`{"query":"x","limit":"20"}`, fault.CodeInvalidParameter, ""},
		{`{"query":"x","includeSchema":"yes"}`, fault.CodeInvalidParameter, ""},
		{`{"query":"x","cursor":5}`, fault.CodeInvalidParameter, ""},
		{`{"query":"x","cursor":null,"limit":null,"task":null,"server":null,"offset":null}`, "", ""},
		{`{"query":"x","cursor":""}`, fault.CodeInvalidCursor, ""},
		{`{"query":"x","cursor":"bm90IGEgY3Vyc29y"}`, fault.CodeInvalidCursor, ""},
		{`{"query":"x","page":2}`, fault.CodeInvalidParameter, ""},
		{`{"query":"ab -colour:red"}`, fault.CodeUnknownQualifier, "3-14"},
		{`{"query":"tag:x"}`, fault.CodeUnsupportedQualifier, "0-5"},
		{`{"query":"readonly:maybe"}`, fault.CodeInvalidValue, "0-14"},
		{`{"query":"é \"open"}`, fault.CodeUnterminatedQuote, "2-7"},
		{`{"query":"server:"}`, fault.CodeEmptyValue, "0-7"},
		{asQuery(strings.Repeat("x", 2048)), "", ""},
		{asQuery(strings.Repeat("x", 2049)), fault.CodeQueryTooLong, ""},
		{asQuery(strings.Repeat("x ", 32)), "", ""},
		{asQuery(strings.Repeat("x ", 33)), fault.CodeTooManyClauses, ""},
	} {
		_, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "p"}, []byte(tc.arguments))
		f := &fault.Fault{}
		if err != nil {
			f = fault.From(err)
		}
		span := ""
		if f.Span != nil {
			span = fmt.Sprintf("%d-%d", f.Span.Start, f.Span.End)
		}
		if f.Code != tc.code || tc.span != "" && span != tc.span {
			t.Errorf("%.80s: got %v (%s at %s), want %q at %s", tc.arguments, err, f.Code, span, tc.code, tc.span)
		}
		if f.Code == fault.CodeInvalidCursor && !f.Restart {
			t.Errorf("%s: restart is false", tc.arguments)
		}
	}
}

func asQuery(text string) string { return fmt.Sprintf(`{"query":%s}`, quoted(text)) }

// walk follows the cursors of a query and returns the names on all pages.
func walk(t *testing.T, s *toolsearch.Searcher, project *toolset.Snapshot, query string, limit int) []string {
	t.Helper()
	var names []string
	cursor := ""
	for range 1000 {
		a := byQuery(t, s, project, fmt.Sprintf(`{"query":%s,"limit":%d%s}`, quoted(query), limit, cursor))
		if a.Count != len(a.Results) || a.NextCursor != nil && a.Count != limit {
			t.Fatalf("page has %d rows and count %d", len(a.Results), a.Count)
		}
		for _, r := range a.Results {
			names = append(names, r.Name)
		}
		if a.NextCursor == nil {
			return names
		}
		cursor = fmt.Sprintf(`,"cursor":%s`, quoted(*a.NextCursor))
	}
	t.Fatal("the walk does not end")
	return nil
}

func TestCursorsVisitEveryToolOnce(t *testing.T) {
	tools := make([]string, 103)
	for i := range tools {
		tools[i] = tool(fmt.Sprintf("report_%03d", i), "Write a report")
	}
	s, project := newSearcher(t), newFixture("walk").server("a", nil, tools...).snapshot()
	for _, query := range []string{"report", "", "server:a"} {
		for _, limit := range []int{1, 20, 50} {
			names := walk(t, s, project, query, limit)
			if len(names) != len(tools) {
				t.Errorf("%q by %d: %d tools", query, limit, len(names))
			}
			for i, name := range names {
				if want := fmt.Sprintf("a__report_%03d", i); name != want {
					t.Fatalf("%q by %d: got %s, want %s", query, limit, name, want)
				}
			}
		}
	}
	for _, n := range []int{19, 20, 21} {
		p := newFixture(fmt.Sprint(n)).server("a", nil, tools[:n]...).snapshot()
		if a := byQuery(t, s, p, `{"query":"report"}`); (a.NextCursor != nil) != (n > 20) {
			t.Errorf("%d tools: next cursor %v", n, a.NextCursor)
		}
	}
}

func TestCursorsAreBound(t *testing.T) {
	s := newSearcher(t)
	base := func() *fixture {
		return newFixture("bound").server("a", nil, tool("report_1", "x"), tool("report_2", "x"), tool("report_3", "x"))
	}
	project := base().snapshot()
	first := byQuery(t, s, project, `{"query":"report  x","limit":1}`)
	next := func(query string) string {
		return fmt.Sprintf(`{"query":%s,"limit":2,"cursor":%s}`, quoted(query), quoted(*first.NextCursor))
	}
	for _, same := range []*toolset.Snapshot{
		project,
		base().snapshot(),
		base().server("empty", nil).snapshot(),
	} {
		for _, query := range []string{"report x", "\treport   x "} {
			if a := byQuery(t, s, same, next(query)); a.names() != "a__report_2 a__report_3" {
				t.Errorf("the same search continues with %s", a.names())
			}
		}
	}
	for why, other := range map[string]*toolset.Snapshot{
		"a tool was added":          base().server("b", nil, tool("report_4", "x")).snapshot(),
		"a tool was filtered out":   newFixture("bound").server("a", func(m *models.Server) { m.DenyTools = models.StringList{"*_3"} }, tool("report_1", "x"), tool("report_2", "x"), tool("report_3", "x")).snapshot(),
		"the server was disabled":   newFixture("bound").server("a", func(m *models.Server) { m.Enabled = false }, tool("report_1", "x")).snapshot(),
		"a description was changed": newFixture("bound").server("a", nil, tool("report_1", "y"), tool("report_2", "x"), tool("report_3", "x")).snapshot(),
	} {
		f := refusal(t, s, other, "anonymous", next("report x"))
		if f.Code != fault.CodeCursorStale || f.Kind != fault.KindConflict || !f.Restart {
			t.Errorf("%s: got %s, restart %v", why, f.Code, f.Restart)
		}
	}
	switchedOff := base()
	switchedOff.source.Project.DisabledTools = models.StringList{"a__report_2"}
	if f := refusal(t, s, switchedOff.snapshot(), "anonymous", next("report x")); f.Code != fault.CodeCursorStale {
		t.Errorf("after disabling a tool: %s", f.Code)
	}
	foreign := newFixture("other").server("a", nil, tool("report_1", "x"), tool("report_2", "x"), tool("report_3", "x")).snapshot()
	for why, f := range map[string]*fault.Fault{
		"another project":   refusal(t, s, foreign, "anonymous", next("report x")),
		"another principal": refusal(t, s, project, "key:1", next("report x")),
		"another query":     refusal(t, s, project, "anonymous", next("report y")),
	} {
		if f.Code != fault.CodeInvalidCursor || f.Kind != fault.KindInvalid || !f.Restart {
			t.Errorf("%s: got %s", why, f.Code)
		}
	}
	_, err := s.Find(t.Context(), project, toolsearch.Query{Surface: "declarations", Caller: toolsearch.Caller{ID: "anonymous"}, Text: "report x", Limit: 1, Continue: true, Cursor: *first.NextCursor})
	if !fault.Is(err, fault.CodeInvalidCursor) {
		t.Errorf("cursor of another surface: %v", err)
	}
}

func TestPageContainsOnlyItsSchemas(t *testing.T) {
	s := newSearcher(t)
	schema := func(n int) string { return fmt.Sprintf(`{"type":"object","properties":{"only_%d":{}}}`, n) }
	definition := func(n int) string {
		return fmt.Sprintf(`{"name":"report_%d","description":"x","inputSchema":%s}`, n, schema(n))
	}
	project := newFixture("schemas").server("a", nil, definition(1), definition(2)).snapshot()
	raw, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "p"}, []byte(`{"query":"report","limit":1,"includeSchema":true}`))
	if err != nil || !strings.Contains(string(raw), schema(1)) || strings.Contains(string(raw), "only_2") {
		t.Errorf("got %s %v", raw, err)
	}
	var a queryAnswer
	if err := json.Unmarshal(raw, &a); err != nil || a.Coverage.Kind != page.Complete {
		t.Errorf("%v %+v", err, a)
	}
}

func TestSearchRespectsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	project := newFixture("late").server("a", nil, manyTools(3000)...).snapshot()
	_, err := newSearcher(t).Search(ctx, project, toolsearch.Caller{ID: "p"}, []byte(asTask("report")))
	if f := fault.From(err); err == nil || f.Code != "SEARCH_FAILED" {
		t.Errorf("got %v", err)
	}
}

func manyTools(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = tool(fmt.Sprintf("report_%05d", i), "Write a report")
	}
	return out
}

func TestQueryWarnsAboutUnknownServers(t *testing.T) {
	off := func(row *models.Server) { row.Enabled = false }
	s := newSearcher(t)
	project := newFixture("desk").server("github", nil, tool("read", "Read")).server("github-enterprise", nil, tool("list", "List")).
		server("gitlab", nil, tool("find", "Find")).server("githob", off, tool("secret", "Secret")).server("jira", nil, tool("ask", "Ask")).snapshot()
	unknown := func(alias, near string) string {
		message := fmt.Sprintf("No searchable server of this project has the alias %q", alias)
		if near != "" {
			message += ". Similar aliases: " + near
		}
		return message
	}
	for _, tt := range []struct {
		query string
		want  []string
		span  fault.Span // of the first warning
	}{
		{"server:github", nil, fault.Span{}},
		{"server:GitHub read", nil, fault.Span{}},
		{"read server:gihtub", []string{unknown("gihtub", "github")}, fault.Span{Start: 5, End: 18}},
		{"server:git", []string{unknown("git", "github, github-enterprise, gitlab")}, fault.Span{End: 10}},
		{"-server:jirra", []string{unknown("jirra", "jira")}, fault.Span{End: 13}},
		{"server:github server:nothing server:jir", []string{unknown("nothing", ""), unknown("jir", "jira")}, fault.Span{Start: 14, End: 28}},
		{"server:githob", []string{unknown("githob", "github, gitlab")}, fault.Span{End: 13}}, // disabled
		{"server:" + strings.Repeat("x", 65), []string{unknown(strings.Repeat("x", 64), "")}, fault.Span{End: 72}},
	} {
		found, err := s.Find(t.Context(), project, toolsearch.Query{Surface: "test", Text: tt.query, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range found.Warnings {
			got = append(got, w.Message)
			if w.Code != toolsearch.WarningServerUnknown {
				t.Errorf("%s: warning = %+v", tt.query, w)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: got %q, want %q", tt.query, got, tt.want)
		}
		if len(tt.want) > 0 && len(found.Warnings) > 0 && (found.Warnings[0].Span == nil || *found.Warnings[0].Span != tt.span) {
			t.Errorf("%s: span = %+v, want %+v", tt.query, found.Warnings[0].Span, tt.span)
		}
	}
}
