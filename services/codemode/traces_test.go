package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
)

// keep calls store with traces that have stored every run when keep returns.
func keep(t *testing.T, db *gorm.DB, store func(*codemode.Traces, *codemode.Runner)) *codemode.Traces {
	t.Helper()
	traces := codemode.NewTraces(db, slog.New(slog.DiscardHandler))
	r := newRunner(codemode.Options{Traces: traces})
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { traces.Run(ctx) })
	store(traces, r)
	cancel()
	running.Wait()
	return traces
}

func TestTraceReplay(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		project := &models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}
		if err := db.Create(project).Error; err != nil {
			t.Fatal(err)
		}
		q := request("const now = Date.now(); console.log('a\\0b'); await text.write({}); return [input, Math.random(), now]")
		q.Input, q.Principal, q.Timeout = json.RawMessage(`{"n":1}`), "key laptop", 9*time.Second
		var first codemode.Outcome
		traces := keep(t, db, func(_ *codemode.Traces, r *codemode.Runner) {
			first = run(t, r, q, newTools())
			long := q
			long.Code, long.Input = "throw new Error('x')", json.RawMessage(`"`+strings.Repeat("x", codemode.MaxTraceField-1)+`"`)
			run(t, r, long, newTools())
			gone := q
			gone.ProjectID = "unknown"
			run(t, r, gone, newTools())
		})
		rows, err := traces.List(t.Context(), "p", "", 10)
		if err != nil || len(rows) != 2 {
			t.Fatalf("%d traces (%v)", len(rows), err)
		}
		failed, kept := rows[0], rows[1]
		if failed.OK || failed.Phase != "runtime" || !failed.InputCut || !kept.OK || kept.Principal != "key laptop" || kept.Calls != 1 || kept.Code != "" {
			t.Errorf("List() = %+v and %+v", failed, kept)
		}
		if older, err := traces.List(t.Context(), "p", failed.ID, 10); err != nil || len(older) != 1 || older[0].ID != kept.ID {
			t.Errorf("traces before the newest: %+v (%v)", older, err)
		}
		if _, err := codemode.Replay(failed); !fault.Is(err, fault.CodeConflict) {
			t.Errorf("Replay() of a trace without its input: %v, want CONFLICT", err)
		}
		if _, err := traces.Get(t.Context(), "other", kept.ID); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("Get() of another project's trace: %v, want NOT_FOUND", err)
		}
		whole, err := traces.Get(t.Context(), "p", kept.ID)
		if err != nil {
			t.Fatal(err)
		}
		var outcome codemode.Outcome
		if err := json.Unmarshal([]byte(whole.Outcome), &outcome); err != nil || string(outcome.Result) != string(first.Result) || len(outcome.Calls) != 1 {
			t.Errorf("outcome %s (%v)", whole.Outcome, err)
		}
		again, err := codemode.Replay(whole)
		if err != nil {
			t.Fatal(err)
		}
		again.Tools = catalog()
		if out := run(t, runner(t, codemode.Options{}), again, newTools()); string(out.Result) != string(first.Result) {
			t.Errorf("replay returned %s, first run %s", out.Result, first.Result)
		}
	})
}

func TestTracesAreTrimmedPerProject(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, id := range []string{"p", "other"} {
			if err := db.Create(&models.Project{ID: id, Slug: id, AuthMode: models.AuthNone, ToolExposure: models.ExposeFull, RetentionRuns: 5}).Error; err != nil {
				t.Fatal(err)
			}
		}
		var rows []models.CodeRun
		for i := range 6 {
			rows = append(rows, models.CodeRun{ID: fmt.Sprintf("%05d", i), ProjectID: "p"})
		}
		rows = append(rows, models.CodeRun{ID: "x", ProjectID: "other"})
		if err := db.CreateInBatches(rows, 50).Error; err != nil {
			t.Fatal(err)
		}
		traces := keep(t, db, func(_ *codemode.Traces, r *codemode.Runner) {
			run(t, r, request("return 'x'.repeat(60000) + '\\u0001'.repeat(9000)"), newTools())
		})
		left, err := traces.List(t.Context(), "p", "", codemode.MaxTraces+1)
		if err != nil || len(left) != 5 {
			t.Fatalf("%d traces are left (%v)", len(left), err)
		}
		if oldest := left[len(left)-1].ID; oldest != "00002" {
			t.Errorf("oldest trace is %s", oldest)
		}
		newest, err := traces.Get(t.Context(), "p", left[0].ID)
		if err != nil || len(newest.Outcome) > codemode.MaxTraceField || !json.Valid([]byte(newest.Outcome)) || newest.Outcome == "{}" {
			t.Errorf("outcome of %d bytes (%v)", len(newest.Outcome), err)
		}
		if others, err := traces.List(t.Context(), "other", "", 10); err != nil || len(others) != 1 {
			t.Errorf("another project has %d traces (%v)", len(others), err)
		}
	})
}

func TestRunAwaitsTrace(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		project := &models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}
		if err := db.Create(project).Error; err != nil {
			t.Fatal(err)
		}
		traces := codemode.NewTraces(db, slog.New(slog.DiscardHandler)) // nothing drains its queue
		r := runner(t, codemode.Options{Traces: traces})
		for _, code := range []string{"return 1", "throw 1"} {
			q := request(code)
			q.AwaitTrace = true
			out := run(t, r, q, newTools())
			row, err := traces.Get(t.Context(), "p", out.TraceID)
			if err != nil || row.Code != code || row.OK != out.OK {
				t.Errorf("%s: trace %q = %+v (%v)", code, out.TraceID, row, err)
			}
		}
		q := request("return 1")
		q.ProjectID, q.AwaitTrace = "gone", true
		if out := run(t, r, q, newTools()); out.TraceID != "" || !out.OK {
			t.Errorf("run in a deleted project: trace %q, %+v", out.TraceID, out.Error)
		}
		if out := run(t, r, request("return 1"), newTools()); out.TraceID != "" {
			t.Errorf("run without AwaitTrace has the trace %q", out.TraceID)
		}
	})
}
