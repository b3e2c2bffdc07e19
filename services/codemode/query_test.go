package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	"mcpgateway/services/typescript/typescripttest"
	"mcpgateway/services/upstream"
)

// declaredProject builds a project.
type declaredProject struct{ source toolset.Source }

func newDeclaredProject(id string) *declaredProject {
	return &declaredProject{toolset.Source{
		Project:     models.Project{ID: id, Slug: id, CodeModeEnabled: true},
		Inventories: map[string]*models.Inventory{},
		Tools:       map[string][]models.Tool{},
	}}
}

// server adds a synced server with the named tools. The description of a tool
// is its name with spaces.
func (p *declaredProject) server(alias string, change func(*models.Server), names ...string) *declaredProject {
	row := models.Server{ID: "id-" + alias, Alias: alias, Enabled: true, DefinitionPolicy: models.PolicyFollow}
	if change != nil {
		change(&row)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p.source.Servers = append(p.source.Servers, row)
	p.source.Inventories[row.ID] = &models.Inventory{ServerID: row.ID, SyncedAt: &now, AttemptedAt: now}
	for _, name := range names {
		d := fmt.Sprintf(`{"name":%q,"description":"About %s.","inputSchema":{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"number"}}}}`, name, strings.ReplaceAll(name, "_", " "))
		p.source.Tools[row.ID] = append(p.source.Tools[row.ID], models.Tool{ServerID: row.ID, Name: name, Definition: d, DefinitionHash: toolset.HashDefinition([]byte(d))})
	}
	return p
}

func (p *declaredProject) snapshot() *toolset.Snapshot {
	return toolset.Rebuild(nil, p.source, func(models.Server) *upstream.Target { return &upstream.Target{} })
}

func newDeclarations(t *testing.T) *codemode.Declarations {
	t.Helper()
	ring, err := secrets.ParseKeyRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return codemode.NewDeclarations(toolsearch.NewSearcher(toolsearch.Options{Cursors: page.NewCursors(ring), Log: slog.New(slog.DiscardHandler)}))
}

type declarationsAnswer struct {
	Declarations string
	Count        int
	NextCursor   *string
	Warnings     []fault.Warning
	Coverage     page.Coverage
}

func listPage(t *testing.T, d *codemode.Declarations, project *toolset.Snapshot, arguments string) *declarationsAnswer {
	t.Helper()
	l, err := d.List(t.Context(), project, toolsearch.Caller{ID: "key-1"}, []byte(arguments))
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	if l.Text != string(l.Structured) {
		t.Error("text and structured content differ")
	}
	var a declarationsAnswer
	if err := json.Unmarshal(l.Structured, &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

// toolNames returns the names of the tools declared in text.
func toolNames(text string) []string {
	var names []string
	for line := range strings.SplitSeq(text, "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, `  "`), `"(`); ok && strings.HasPrefix(line, `  "`) {
			names = append(names, name)
		}
	}
	return names
}

func TestListWithoutQuery(t *testing.T) {
	d := newDeclarations(t)
	project := newDeclaredProject("p").
		server("my-git", func(s *models.Server) { s.DenyTools = models.StringList{"delete_*"} }, "list_issues", "get_issue", "delete_repo").
		server("off", func(s *models.Server) { s.Enabled = false }, "hidden").
		server("mail", nil, "SEND_mail").snapshot()
	header := typescripttest.Declare(t, nil, typescript.Settings{}).Text
	for _, tc := range []struct{ arguments, want string }{
		{``, "SEND_mail list_issues get_issue"},
		{`{}`, "SEND_mail list_issues get_issue"},
		{`{"filter":""}`, "SEND_mail list_issues get_issue"},
		{`{"filter":"ISSUE"}`, "list_issues get_issue"},
		{`{"filter":"my-git__get"}`, "get_issue"},
		{`{"filter":"about send"}`, "SEND_mail"},
		{`{"filter":"delete_repo"}`, ""},
		{`{"filter":"hidden"}`, ""},
	} {
		l, err := d.List(t.Context(), project, toolsearch.Caller{ID: "key-1"}, []byte(tc.arguments))
		if err != nil {
			t.Fatalf("%s: %v", tc.arguments, err)
		}
		if got := strings.Join(toolNames(l.Text), " "); got != tc.want {
			t.Errorf("%s declares %q, want %q", tc.arguments, got, tc.want)
		}
		if !strings.HasPrefix(l.Text, header) || tc.want == "" && l.Text != header {
			t.Errorf("%s: the text does not start with the header: %s", tc.arguments, l.Text)
		}
		var a declarationsAnswer
		if err := json.Unmarshal(l.Structured, &a); err != nil || a.Declarations != l.Text || a.Count != len(toolNames(l.Text)) || a.Warnings == nil {
			t.Errorf("%s: structured content = %.200s (%v)", tc.arguments, l.Structured, err)
		}
	}
}

func TestPagesDeclareEveryToolOnce(t *testing.T) {
	d := newDeclarations(t)
	p := newDeclaredProject("p")
	var want []string
	for _, alias := range []string{"my-git", "class", "a.b"} {
		var names []string
		for i := range 9 {
			names = append(names, fmt.Sprintf("%s_%d", strings.ReplaceAll(alias, ".", "-"), i))
		}
		p.server(alias, nil, names...)
		want = append(want, names...)
	}
	project := p.snapshot()
	whole := typescripttest.Declare(t, project.Tools, typescript.Settings{}).Text
	header := typescripttest.Declare(t, nil, typescript.Settings{}).Text
	dir := t.TempDir()
	var got []string
	cursor, pages := "", 0
	for {
		a := listPage(t, d, project, fmt.Sprintf(`{"query":"about","limit":5%s}`, cursor))
		got = append(got, toolNames(a.Declarations)...)
		if a.Count != len(toolNames(a.Declarations)) || a.Count > 5 || a.Coverage.Kind != page.Complete || !strings.HasPrefix(a.Declarations, header) {
			t.Errorf("page %d: %d tools, %+v", pages, a.Count, a.Coverage)
		}
		for line := range strings.SplitSeq(a.Declarations, "\n") {
			if strings.HasPrefix(line, "declare const ") && !strings.Contains(whole, line) {
				t.Errorf("page %d names a server differently than the full declarations: %s", pages, line)
			}
		}
		typescripttest.WriteTestFile(t, filepath.Join(dir, "page.ts"), a.Declarations)
		for _, e := range typescripttest.CompileTypes(t, dir, "page.ts") {
			t.Errorf("page %d, line %d: %s", pages, e.Line, e.Text)
		}
		if pages++; a.NextCursor == nil {
			break
		}
		cursor = fmt.Sprintf(`,"cursor":%q`, *a.NextCursor)
	}
	slices.Sort(got)
	slices.Sort(want)
	if pages != 6 || !slices.Equal(got, want) {
		t.Errorf("%d pages declare %v, want %v", pages, got, want)
	}
}

func TestNewAliasKeepsIdentifiers(t *testing.T) {
	constants := func(p *declaredProject) string {
		var lines []string
		for line := range strings.SplitSeq(typescripttest.Declare(t, p.snapshot().Tools, typescript.Settings{}).Text, "\n") {
			if strings.HasPrefix(line, "declare const ") && strings.HasSuffix(line, "$: {") || strings.HasPrefix(line, "declare const a") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n")
	}
	p := newDeclaredProject("p").server("a-b", nil, "x").server("class", nil, "x").server("a_b", nil, "x")
	before := constants(p)
	after := constants(p.server("a.b", nil, "x").server("a", nil, "x").server("class-", nil, "x"))
	for line := range strings.SplitSeq(before, "\n") {
		if !strings.Contains(after, line) {
			t.Errorf("%q is missing:\n%s", line, after)
		}
	}
	if strings.Count(before, "\n") != 2 {
		t.Errorf("declarations:\n%s", before)
	}
}

func TestListRejectsInvalidArguments(t *testing.T) {
	d := newDeclarations(t)
	project := newDeclaredProject("p").server("git", nil, "a", "b", "c").snapshot()
	other := newDeclaredProject("q").server("git", nil, "a", "b", "c").snapshot()
	first := listPage(t, d, project, `{"query":"about","limit":1}`)
	cursor := *first.NextCursor
	fewer := newDeclaredProject("p").server("git", func(s *models.Server) { s.DenyTools = models.StringList{"c"} }, "a", "b", "c").snapshot()
	off := newDeclaredProject("p").server("git", nil, "a")
	off.source.Project.CodeModeEnabled = false
	for _, tc := range []struct {
		name, arguments string
		project         *toolset.Snapshot
		principal       string
		code            fault.Code
		restart         bool
	}{
		{"not an object", `[]`, project, "key-1", fault.CodeInvalidParameter, false},
		{"duplicate name", `{"query":"a","query":"b"}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"unknown name", `{"task":"a"}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"query and filter", `{"query":"a","filter":"b"}`, project, "key-1", fault.CodeConflictingParameters, false},
		{"limit without query", `{"limit":1}`, project, "key-1", fault.CodeConflictingParameters, false},
		{"limit and filter", `{"limit":1,"filter":"a"}`, project, "key-1", fault.CodeConflictingParameters, false},
		{"cursor without query", `{"cursor":"x"}`, project, "key-1", fault.CodeConflictingParameters, false},
		{"query not a string", `{"query":1}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"filter not a string", `{"filter":1}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"name in another case", `{"Filter":"a"}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"unknown null", `{"filters":null}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"filter too long", `{"filter":"` + strings.Repeat("x", 8193) + `"}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"limit too small", `{"query":"a","limit":0}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"limit too large", `{"query":"a","limit":51}`, project, "key-1", fault.CodeInvalidParameter, false},
		{"unknown qualifier", `{"query":"x:y"}`, project, "key-1", "UNKNOWN_QUALIFIER", false},
		{"empty cursor", `{"query":"about","cursor":""}`, project, "key-1", fault.CodeInvalidCursor, true},
		{"cursor of another query", `{"query":"git","cursor":"` + cursor + `"}`, project, "key-1", fault.CodeInvalidCursor, true},
		{"cursor of another principal", `{"query":"about","cursor":"` + cursor + `"}`, project, "key-2", fault.CodeInvalidCursor, true},
		{"cursor of another project", `{"query":"about","cursor":"` + cursor + `"}`, other, "key-1", fault.CodeInvalidCursor, true},
		{"cursor of another policy", `{"query":"about","cursor":"` + cursor + `"}`, fewer, "key-1", fault.CodeCursorStale, true},
		{"Code Mode is off", `{}`, off.snapshot(), "key-1", fault.CodeCodeModeDisabled, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := d.List(t.Context(), tc.project, toolsearch.Caller{ID: tc.principal}, []byte(tc.arguments))
			if err == nil {
				t.Fatalf("List() = %.100s, want an error", l.Text)
			}
			if f := fault.From(err); f.Code != tc.code || f.Restart != tc.restart {
				t.Errorf("error %s (restart %v): %s", f.Code, f.Restart, f.Message)
			}
		})
	}
	whole, err := d.List(t.Context(), project, toolsearch.Caller{ID: "key-1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, null := range []string{`{"filter":null}`, `{"query":null}`, `{"filter":null,"query":null,"limit":null,"cursor":null}`} {
		if l, err := d.List(t.Context(), project, toolsearch.Caller{ID: "key-1"}, []byte(null)); err != nil || l.Text != whole.Text {
			t.Errorf("List(%s) = %v, want all declarations", null, err)
		}
	}
	for _, limit := range []int{1, 49, 50} {
		if a := listPage(t, d, project, fmt.Sprintf(`{"query":"about","limit":%d}`, limit)); a.Count != min(limit, 3) {
			t.Errorf("limit %d returned %d tools", limit, a.Count)
		}
	}
}

// staleFinder finds tools in an outdated snapshot.
type staleFinder struct{ snapshot *toolset.Snapshot }

func (f staleFinder) Find(context.Context, *toolset.Snapshot, toolsearch.Query) (*toolsearch.Result, error) {
	found := &toolsearch.Result{}
	for _, tool := range f.snapshot.Tools {
		found.Matches = append(found.Matches, ranking.Match{Tool: tool})
	}
	return found, nil
}

func TestPagesApplyCurrentPolicy(t *testing.T) {
	before := newDeclaredProject("p").server("git", nil, "read", "write").snapshot()
	now := newDeclaredProject("p").server("git", func(s *models.Server) { s.DenyTools = models.StringList{"write"} }, "read", "write")
	now.source.Project.CodeModeAllowFetch = true
	a := listPage(t, codemode.NewDeclarations(staleFinder{before}), now.snapshot(), `{"query":"git"}`)
	if got := strings.Join(toolNames(a.Declarations), " "); got != "read" || a.Count != 1 {
		t.Errorf("declared tools = %q", got)
	}
	if !strings.Contains(a.Declarations, "declare function fetch(") {
		t.Error("fetch is allowed but not declared")
	}
}

func TestListReportsCoverage(t *testing.T) {
	p := newDeclaredProject("p").server("git", nil, "a").server("jira", nil)
	delete(p.source.Inventories, "id-jira")
	a := listPage(t, newDeclarations(t), p.snapshot(), `{"query":"about"}`)
	if a.Coverage.Kind != page.Partial || len(a.Coverage.Unavailable) != 1 || a.Coverage.Unavailable[0].Server != "jira" {
		t.Errorf("coverage = %+v", a.Coverage)
	}
}

func TestListStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	project := newDeclaredProject("p").server("git", nil, "a").snapshot()
	for _, arguments := range []string{`{}`, `{"filter":"a"}`} {
		if _, err := newDeclarations(t).List(ctx, project, toolsearch.Caller{ID: "key-1"}, []byte(arguments)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}
