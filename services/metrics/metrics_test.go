package metrics_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/metrics"
)

// world contains the sources of the metrics.
type world struct {
	projects []metrics.Project
	recorded []models.Call
}

func (w *world) Record(call models.Call) { w.recorded = append(w.recorded, call) }

func (w *world) metrics() *metrics.Metrics {
	return metrics.New(metrics.Options{
		Version: "1.2.3", Projects: func() []metrics.Project { return w.projects },
		Catalog: func() (int, int) { return 495, 24 }, Connectors: func() int { return 2 }, Syncs: func() (int64, int64) { return 7, 2 }, Lost: func() int64 { return 3 }, Unattributed: func() int64 { return 4 }, Panics: func() int64 { return 5 },
		Alerts: func() map[string]int { return map[string]int{"server_down": 2} }, Mail: func() (int64, int64) { return 6, 1 },
	})
}

// text returns the lines of the metrics with names that start with gateway_ and
// the prefix.
func text(t *testing.T, m *metrics.Metrics, prefix string) []string {
	t.Helper()
	b, err := m.Text()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "gateway_"+prefix) {
			lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(line, "gateway_"), "\n"))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestMetricsShowState(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 500_000_000, time.UTC)
	w := &world{projects: []metrics.Project{{ID: "p1", Slug: "work", Servers: []metrics.ServerStats{
		{Alias: "up", Tried: true, Up: true, SyncedAt: &at, SyncOK: true},
		{Alias: "down", Tried: true, Failures: 3, Open: true, Active: 64, Waiting: 7, SyncedAt: &at},
		{Alias: "new", Program: &metrics.ProgramStats{}},
		{Alias: "program", Program: &metrics.ProgramStats{Processes: 2, Memory: 96 << 20, Starts: 5, StrayLines: 7, LastStart: 1500 * time.Millisecond}},
	}}}}
	m := w.metrics()
	m.Streams("mcp", func() int { return 1 })
	m.Streams("mcp", func() int { return 4 })
	m.Resume(func() int64 { return 4096 })
	want := []string{
		`alerts_firing{rule="server_down"} 2`,
		`build_info{version="1.2.3"} 1`,
		`calls_lost_total 3`,
		`catalog_rows{kind="server"} 495`,
		`catalog_rows{kind="template"} 24`,
		`connector_online 2`,
		`mail_messages_total{result="failed"} 1`,
		`mail_messages_total{result="sent"} 6`,
		`open_streams{kind="mcp"} 4`,
		`panics_total 5`,
		`resume_bytes 4096`,
		`runner_exits_total{project="work",server="new"} 0`,
		`runner_exits_total{project="work",server="program"} 3`,
		`runner_memory_bytes{project="work",server="new"} 0`,
		`runner_memory_bytes{project="work",server="program"} 1.00663296e+08`,
		`runner_processes{project="work",server="new"} 0`,
		`runner_processes{project="work",server="program"} 2`,
		`runner_start_seconds{project="work",server="program"} 1.5`,
		`runner_starts_total{project="work",server="new"} 0`,
		`runner_starts_total{project="work",server="program"} 5`,
		`runner_stray_lines_total{project="work",server="new"} 0`,
		`runner_stray_lines_total{project="work",server="program"} 7`,
		`syncs_total{result="error"} 2`,
		`syncs_total{result="ok"} 7`,
		`upstream_active_calls{project="work",server="down"} 64`,
		`upstream_active_calls{project="work",server="up"} 0`,
		`upstream_breaker_open{project="work",server="down"} 1`,
		`upstream_breaker_open{project="work",server="up"} 0`,
		`upstream_consecutive_failures{project="work",server="down"} 3`,
		`upstream_consecutive_failures{project="work",server="up"} 0`,
		`upstream_last_sync_success{project="work",server="down"} 0`,
		`upstream_last_sync_success{project="work",server="new"} 0`,
		`upstream_last_sync_success{project="work",server="program"} 0`,
		`upstream_last_sync_success{project="work",server="up"} 1`,
		`upstream_last_sync_timestamp_seconds{project="work",server="down"} 1.7673552005e+09`,
		`upstream_last_sync_timestamp_seconds{project="work",server="up"} 1.7673552005e+09`,
		`upstream_unattributed_total 4`,
		`upstream_up{project="work",server="down"} 0`,
		`upstream_up{project="work",server="up"} 1`,
		`upstream_waiting_calls{project="work",server="down"} 7`,
		`upstream_waiting_calls{project="work",server="up"} 0`,
	}
	if diff := cmp.Diff(want, text(t, m, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b, err := m.Text()
	if err != nil || !strings.Contains(string(b), "go_goroutines") || !strings.Contains(string(b), "process_open_fds") {
		t.Errorf("the process is missing (%v)", err)
	}
}

func TestRequestsAreCountedByRouteAndStatus(t *testing.T) {
	m := (&world{}).metrics()
	m.Request("GET", "/x/:id", 200, time.Millisecond)
	m.Request("GET", "/x/:id", 200, time.Millisecond+1)
	m.Request("POST", "/x/:id", 422, time.Hour)
	m.Request("GET", "", 404, 0)
	got := text(t, m, "http_requests_total")
	want := []string{
		`http_requests_total{method="GET",route="(other)",status="404"} 1`,
		`http_requests_total{method="GET",route="/x/:id",status="200"} 2`,
		`http_requests_total{method="POST",route="/x/:id",status="422"} 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	took := strings.Join(text(t, m, `http_request_duration_seconds`), "\n")
	for _, line := range []string{
		`bucket{route="/x/:id",le="0.001"} 1`, `bucket{route="/x/:id",le="0.0025"} 2`, `bucket{route="/x/:id",le="60"} 2`,
		`bucket{route="/x/:id",le="+Inf"} 3`, `count{route="/x/:id"} 3`, `sum{route="/x/:id"} 3600.002`,
	} {
		if !strings.Contains(took, line) {
			t.Errorf("%s is missing in\n%s", line, took)
		}
	}
}

func TestCallsAreCountedAndForwarded(t *testing.T) {
	w := &world{projects: []metrics.Project{{ID: "p1", Slug: "work", Servers: []metrics.ServerStats{{Alias: "up"}}}, {ID: "p2", Slug: "other"}}}
	m := w.metrics()
	log := m.Calls(w)
	called := func(project, server, tool string, outcome models.Outcome) {
		log.Record(models.Call{ProjectID: project, Server: server, Tool: tool, Outcome: outcome, DurationUS: 4000})
	}
	call := func(project, server string, outcome models.Outcome) { called(project, server, "secret__tool", outcome) }
	call("p1", "up", models.CallOK)
	call("p1", "up", models.CallOK)
	call("p1", "up", models.CallFailed)
	call("p1", "", models.CallFailed)
	called("p1", "", "gateway_tool_search", models.CallToolError)
	called("p2", "", "gateway_tool_search", models.CallCancelled)
	call("p1", "renamed", models.CallOK)
	call("gone", "up", models.CallOK)
	want := []string{
		`tool_calls_total{outcome="cancelled",project="other",server="gateway"} 1`,
		`tool_calls_total{outcome="error",project="work",server="(none)"} 1`,
		`tool_calls_total{outcome="error",project="work",server="up"} 1`,
		`tool_calls_total{outcome="ok",project="work",server="up"} 2`,
		`tool_calls_total{outcome="tool_error",project="work",server="gateway"} 1`,
	}
	if diff := cmp.Diff(want, text(t, m, "tool_calls_total")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if took := strings.Join(text(t, m, "tool_call_duration"), "\n"); !strings.Contains(took, `count{project="work",server="up"} 3`) || !strings.Contains(took, `le="0.005"} 3`) {
		t.Errorf("the durations are\n%s", took)
	}
	if len(w.recorded) != 8 || w.recorded[0].Tool != "secret__tool" {
		t.Errorf("handed on were %v", w.recorded)
	}
	if b, _ := m.Text(); strings.Contains(string(b), "secret") {
		t.Error("the names of tools are shown")
	}
}

func TestMetricsAreBounded(t *testing.T) {
	for _, n := range []int{metrics.MaxRequestSeries - 1, metrics.MaxRequestSeries, metrics.MaxRequestSeries + 1} {
		m := (&world{}).metrics()
		for i := range n {
			m.Request("GET", fmt.Sprint("/", i), 200, 0)
		}
		lines := text(t, m, "http_requests_total")
		rest := slices.Contains(lines, `http_requests_total{method="(other)",route="(other)",status="0"} 1`)
		if rest != (n > metrics.MaxRequestSeries) || len(lines) != n {
			t.Errorf("%d: %d lines, and others counted together: %v", n, len(lines), rest)
		}
	}
	w := &world{projects: []metrics.Project{{ID: "p", Slug: "p"}}}
	m := w.metrics()
	log := m.Calls(w)
	for i := range metrics.MaxCallSeries + 5 {
		log.Record(models.Call{ProjectID: "p", Server: fmt.Sprint(i), Outcome: models.CallOK})
	}
	if got := text(t, m, "tool_calls_total"); !cmp.Equal(got, []string{`tool_calls_total{outcome="(other)",project="(other)",server="(other)"} 5`}) {
		t.Errorf("beyond the bound: %v", got)
	}
}

func TestTextIsCachedForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := (&world{}).metrics()
		m.Request("GET", "/a", 200, 0)
		before := len(text(t, m, "http_requests_total"))
		m.Request("GET", "/b", 200, 0)
		time.Sleep(time.Second - time.Nanosecond)
		if again := len(text(t, m, "http_requests_total")); before != 1 || again != 1 {
			t.Errorf("%d lines, then %d", before, again)
		}
		time.Sleep(time.Nanosecond)
		if after := len(text(t, m, "http_requests_total")); after != 2 {
			t.Errorf("a second later %d lines", after)
		}
	})
}

func TestConcurrentCountingIsExact(t *testing.T) {
	m := (&world{}).metrics()
	var running sync.WaitGroup
	for part := range 8 {
		running.Go(func() {
			for i := range 1000 {
				m.Request("GET", fmt.Sprint("/", (i+part)%20), 200, time.Millisecond)
				if i%100 == 0 {
					_, _ = m.Text()
				}
			}
		})
	}
	running.Wait()
	var total int
	deadline := time.Now().Add(30 * time.Second) // the text can be 1 s old
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for total != 8000 && time.Now().Before(deadline) {
		<-tick.C
		total = 0
		for _, line := range text(t, m, "http_requests_total") {
			var n int
			if _, err := fmt.Sscanf(line[strings.LastIndexByte(line, ' ')+1:], "%d", &n); err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	if total != 8000 {
		t.Errorf("%d were counted", total)
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	w := &world{projects: []metrics.Project{{ID: "p", Slug: "p"}}}
	m := w.metrics()
	log := m.Calls(discard{})
	call := models.Call{ProjectID: "p", Outcome: models.CallOK, DurationUS: 10}
	count := func() {
		m.Request("POST", "/v1/mcp/:projectSlug/request", 200, time.Millisecond)
		log.Record(call)
	}
	count()
	if n := testing.AllocsPerRun(100, count); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

type discard struct{}

func (discard) Record(models.Call) {}

func BenchmarkCount(b *testing.B) {
	m := (&world{}).metrics()
	log := m.Calls(discard{})
	call := models.Call{ProjectID: "p", Outcome: models.CallOK, DurationUS: 10}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Request("POST", "/v1/mcp/:projectSlug/request", 200, time.Millisecond)
			log.Record(call)
		}
	})
}

func TestEmbeddingsAreCounted(t *testing.T) {
	if lines := text(t, (&world{}).metrics(), "search_"); len(lines) != 0 {
		t.Errorf("without embeddings: %q", lines)
	}
	o := metrics.Options{
		Projects: func() []metrics.Project { return nil }, Catalog: func() (int, int) { return 0, 0 }, Connectors: func() int { return 0 },
		Syncs: func() (int64, int64) { return 0, 0 }, Lost: func() int64 { return 0 }, Unattributed: func() int64 { return 0 }, Panics: func() int64 { return 0 },
		Alerts: func() map[string]int { return nil }, Mail: func() (int64, int64) { return 0, 0 },
		Embeddings: func() metrics.EmbeddingStats {
			return metrics.EmbeddingStats{Vectors: 3, Bytes: 432, Used: 4, Late: 5, Failed: 6, Skipped: 7}
		},
	}
	want := []string{
		`search_embeddings_total{result="failed"} 6`, `search_embeddings_total{result="late"} 5`, `search_embeddings_total{result="skipped"} 7`,
		`search_embeddings_total{result="used"} 4`, "search_vector_bytes 432", "search_vectors 3",
	}
	if diff := cmp.Diff(want, text(t, metrics.New(o), "search_")); diff != "" {
		t.Error(diff)
	}
}

func TestBackupsAreCounted(t *testing.T) {
	if lines := text(t, (&world{}).metrics(), "backup"); len(lines) != 0 {
		t.Errorf("without a schedule: %q", lines)
	}
	o := metrics.Options{
		Projects: func() []metrics.Project { return nil }, Catalog: func() (int, int) { return 0, 0 }, Connectors: func() int { return 0 },
		Syncs: func() (int64, int64) { return 0, 0 }, Lost: func() int64 { return 0 }, Unattributed: func() int64 { return 0 }, Panics: func() int64 { return 0 },
		Alerts: func() map[string]int { return nil }, Mail: func() (int64, int64) { return 0, 0 },
		Backups: func() metrics.BackupStats {
			return metrics.BackupStats{Done: 3, Failed: 1, Last: time.Unix(12, 500_000_000)}
		},
	}
	want := []string{"backup_last_success_timestamp_seconds 12.5", `backups_total{result="done"} 3`, `backups_total{result="failed"} 1`}
	if diff := cmp.Diff(want, text(t, metrics.New(o), "backup")); diff != "" {
		t.Error(diff)
	}
}
