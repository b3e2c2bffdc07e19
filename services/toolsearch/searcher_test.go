package toolsearch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
)

func TestSearchDuringProjectChanges(t *testing.T) {
	s := newSearcher(t)
	const rounds = 20
	versions := make([]*toolset.Snapshot, rounds)
	for i := range versions {
		versions[i] = newFixture("busy").server("a", nil, append(manyTools(200), tool(fmt.Sprintf("forecast_%d", i), "Weather"))...).snapshot()
	}
	other := office()
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for i := range versions {
				version := versions[(i+worker)%rounds]
				a := forTask(t, s, version, asTask("weather forecast"))
				if want := fmt.Sprintf("a__forecast_%d", (i+worker)%rounds); a.TopTool != want || a.Total != 1 {
					t.Errorf("got %s of %d, want %s", a.TopTool, a.Total, want)
				}
				if q := byQuery(t, s, version, `{"query":"weather"}`); q.Count != 1 {
					t.Errorf("query found %d", q.Count)
				}
				if a := forTask(t, s, other, asTask("weather forecast")); a.TopTool != "weather__get_forecast" {
					t.Errorf("search of another project found %s", a.TopTool)
				}
				if i == rounds/2 {
					s.Drop("busy")
				}
			}
		})
	}
	running.Wait()
}

func TestUnchangedToolsetShowsNewState(t *testing.T) {
	s := newSearcher(t)
	f := newFixture("same").server("a", nil, tool("send", "Send mail"))
	if a := forTask(t, s, f.snapshot(), asTask("mail")); a.Total != 1 || len(a.Warnings) != 0 {
		t.Fatalf("got %+v", a)
	}
	f.source.Inventories["id-a"].ErrorCode, f.source.Inventories["id-a"].ErrorMessage = "UPSTREAM_TIMEOUT", "time-out"
	if a := forTask(t, s, f.snapshot(), asTask("mail")); a.Total != 1 || len(a.Warnings) != 1 {
		t.Errorf("after a failed sync: %+v", a)
	}
	f.source.Servers[0].DenyTools = models.StringList{"send"}
	if a := forTask(t, s, f.snapshot(), asTask("mail")); a.Total != 0 || len(a.Warnings) != 2 {
		t.Errorf("with a denied tool: %+v", a)
	}
	f.source.Servers[0].DenyTools = nil
	if a := forTask(t, s, f.snapshot(), asTask("mail")); a.Total != 1 || len(a.Warnings) != 1 {
		t.Errorf("with an allowed tool: %+v", a)
	}
}

func TestIndexCacheLimit(t *testing.T) {
	s := newSearcher(t)
	const tools = 10
	s.LimitTools(3 * tools)
	projects := make([]*toolset.Snapshot, 6)
	for i := range projects {
		projects[i] = newFixture(fmt.Sprint(i)).server("a", nil, manyTools(tools)...).snapshot()
	}
	for round := range 3 {
		for i, p := range projects {
			if a := forTask(t, s, p, asTask("report")); a.Total != tools {
				t.Fatalf("found %d", a.Total)
			}
			want := min(i+1, 3)
			if round > 0 {
				want = 3
			}
			if n, held := s.Kept(); n != want || held != want*tools {
				t.Fatalf("round %d, project %d: %d projects with %d tools cached, want %d", round, i, n, held, want)
			}
		}
	}
	large := newFixture("large").server("a", nil, manyTools(3*tools+1)...).snapshot()
	if a := forTask(t, s, large, asTask("report")); a.Total != 3*tools+1 {
		t.Errorf("found %d", a.Total)
	}
	if n, held := s.Kept(); n != 1 || held != 3*tools+1 {
		t.Errorf("%d projects with %d tools cached next to one above the limit", n, held)
	}
	s.Drop("large")
	if n, held := s.Kept(); n != 0 || held != 0 {
		t.Errorf("%d projects with %d tools cached after Forget", n, held)
	}
}

func TestRankingIsDeterministic(t *testing.T) {
	tools := syntheticTools(2_000)
	a, b := ranking.Build(tools), ranking.Build(tools)
	for _, task := range benchmarkTasks() {
		x, n := a.Rank(task, "", 50)
		y, m := b.Rank(task, "", 50)
		if fmt.Sprint(x) != fmt.Sprint(y) || n != m || n == 0 {
			t.Fatalf("%q has two different rankings", task)
		}
		for i := range x[1:] {
			if x[i].Score < x[i+1].Score || x[i].Score == x[i+1].Score && x[i].Tool.Name > x[i+1].Tool.Name {
				t.Fatalf("%q: %v precedes %v", task, x[i], x[i+1])
			}
		}
		for _, count := range []int{0, 1, 7, 49} {
			if part, _ := a.Rank(task, "", count); fmt.Sprint(part) != fmt.Sprint(x[:min(count, len(x))]) {
				t.Fatalf("%q: the best %d are not a prefix of more results", task, count)
			}
		}
	}
}

func TestEmptyProject(t *testing.T) {
	s, project := newSearcher(t), newFixture("empty").snapshot()
	if a := forTask(t, s, project, asTask("anything")); a.Total != 0 || a.TopTool != "" {
		t.Errorf("got %+v", a)
	}
	if q := byQuery(t, s, project, `{"query":""}`); q.Count != 0 || q.NextCursor != nil {
		t.Errorf("got %+v", q)
	}
}

func TestHostileDefinitionsAreLimited(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"p":`, 60) + `{}` + strings.Repeat(`}}`, 60)
	var wide strings.Builder
	for i := range 20_000 {
		if i > 0 {
			wide.WriteByte(',')
		}
		fmt.Fprintf(&wide, `"p%d":{"enum":["a%d","b%d"]}`, i, i, i)
	}
	long := strings.Repeat("word ", 100_000) + strings.Repeat("x", 100_000)
	s := newSearcher(t)
	project := newFixture("hostile").server("a", nil,
		`{"name":"deep","inputSchema":`+deep+`}`,
		`{"name":"wide","inputSchema":{"type":"object","properties":{`+wide.String()+`}}}`,
		tool("long", long),
		`{"name":"odd","description":5,"title":[],"annotations":[],"inputSchema":{"properties":[],"items":[],"anyOf":{},"oneOf":[1,{"properties":{"inner":{"enum":"x"}}}]}}`,
		"{\"name\":\"\u202e☃\",\"description\":\"\\u0000\\uFFFD\"}",
	).snapshot()
	for task, top := range map[string]string{"deep": "a__deep", "wide": "a__wide", "long": "a__long", "word": "a__long", "inner": "a__odd"} {
		if a := forTask(t, s, project, asTask(task)); a.TopTool != top {
			t.Errorf("%s found %q", task, a.TopTool)
		}
	}
	if q := byQuery(t, s, project, `{"query":"☃"}`); q.Count != 1 {
		t.Errorf("the snowman is found %d times", q.Count)
	}
}

func FuzzSearch(f *testing.F) {
	for _, task := range []string{"weather forecast", "a,b.c;d", "HTTPServer2Go getURLs", "天气 forecast", "\u0301\u0301", "-x \"y\"", "wether forcast, sned mial!"} {
		f.Add(task)
	}
	project := office()
	f.Fuzz(func(t *testing.T, text string) {
		x := ranking.Build(append(project.Tools, &toolset.Tool{Name: "a__" + text, FullName: "a__" + text, Upstream: text, Server: project.Servers[0], Definition: []byte(tool("x", text))}))
		best, total := x.Rank(text, "", 5)
		if len(best) != min(total, 5) {
			t.Fatalf("%d of %d", len(best), total)
		}
		for _, m := range best {
			if m.Score <= 0 {
				t.Fatalf("score %v", m.Score)
			}
		}
	})
}
