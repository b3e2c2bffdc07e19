package toolsearch_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fixture builds a project.
type fixture struct{ source toolset.Source }

func newFixture(id string) *fixture {
	return &fixture{toolset.Source{
		Project:     models.Project{ID: id, Slug: id},
		Inventories: map[string]*models.Inventory{},
		Tools:       map[string][]models.Tool{},
	}}
}

// server adds a synced server with tools, given as raw definitions.
func (f *fixture) server(alias string, change func(*models.Server), definitions ...string) *fixture {
	row := models.Server{ID: "id-" + alias, Alias: alias, Enabled: true, DefinitionPolicy: models.PolicyFollow}
	if change != nil {
		change(&row)
	}
	f.source.Servers = append(f.source.Servers, row)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.source.Inventories[row.ID] = &models.Inventory{ServerID: row.ID, SyncedAt: &now, AttemptedAt: now}
	for _, d := range definitions {
		var named struct{ Name string }
		if err := json.Unmarshal([]byte(d), &named); err != nil {
			panic(err)
		}
		f.source.Tools[row.ID] = append(f.source.Tools[row.ID], models.Tool{
			ServerID: row.ID, Name: named.Name, Definition: d, DefinitionHash: toolset.HashDefinition([]byte(d)),
		})
	}
	return f
}

func (f *fixture) snapshot() *toolset.Snapshot {
	return toolset.Rebuild(nil, f.source, func(models.Server) *upstream.Target { return &upstream.Target{} })
}

func tool(name, description string) string {
	raw, _ := json.Marshal(map[string]any{"name": name, "description": description, "inputSchema": map[string]any{"type": "object"}})
	return string(raw)
}

func newSearcher(t testing.TB, edits ...func(*toolsearch.Options)) *toolsearch.Searcher {
	t.Helper()
	ring, err := secrets.ParseKeyRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	o := toolsearch.Options{Cursors: page.NewCursors(ring), Log: slog.New(slog.DiscardHandler)}
	for _, edit := range edits {
		edit(&o)
	}
	return toolsearch.NewSearcher(o)
}

type taskAnswer struct {
	Total      int
	NextOffset *int
	Truncated  bool
	TopTool    string
	Candidates []struct {
		Name, Server, Description string
		Score                     float64
		InputSchema               json.RawMessage
	}
	Warnings []fault.Warning
}

func (a *taskAnswer) names() string {
	var names []string
	for _, c := range a.Candidates {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

type queryAnswer struct {
	Results []struct {
		Name, Server, Title, Description string
		Score                            *float64
		InputSchema                      json.RawMessage
	}
	Count      int
	NextCursor *string
	Warnings   []fault.Warning
	Coverage   page.Coverage
}

func (a *queryAnswer) names() string {
	var names []string
	for _, r := range a.Results {
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}

// search decodes the result for arguments into out and fails the test on a
// fault.
func search(t testing.TB, s *toolsearch.Searcher, project *toolset.Snapshot, arguments string, out any) {
	t.Helper()
	raw, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "anonymous"}, []byte(arguments))
	if err != nil {
		t.Fatalf("%.200s: %v", arguments, err)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatalf("Search(%.200s) = %.200s: %v", arguments, raw, err)
	}
}

func forTask(t testing.TB, s *toolsearch.Searcher, project *toolset.Snapshot, arguments string) *taskAnswer {
	t.Helper()
	var a taskAnswer
	search(t, s, project, arguments, &a)
	return &a
}

func byQuery(t testing.TB, s *toolsearch.Searcher, project *toolset.Snapshot, arguments string) *queryAnswer {
	t.Helper()
	var a queryAnswer
	search(t, s, project, arguments, &a)
	return &a
}

// refusal returns the fault for invalid arguments.
func refusal(t testing.TB, s *toolsearch.Searcher, project *toolset.Snapshot, principal, arguments string) *fault.Fault {
	t.Helper()
	raw, err := s.Search(t.Context(), project, toolsearch.Caller{ID: principal}, []byte(arguments))
	if err == nil {
		t.Fatalf("Search(%.200s) = %.200s, want a fault", arguments, raw)
	}
	return fault.From(err)
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

func asTask(text string) string { return fmt.Sprintf(`{"task":%s}`, quoted(text)) }
