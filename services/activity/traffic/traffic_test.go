package traffic_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// stored returns a store at noon plus one hour with these calls.
func stored(t *testing.T, db *gorm.DB, calls ...models.Call) *traffic.Store {
	t.Helper()
	now := func() time.Time { return noon.Add(time.Hour) }
	log := activity.NewCalls(db, now, slog.New(slog.DiscardHandler))
	for i, call := range calls {
		if call.ID == "" {
			ms := call.At.UnixMilli()
			call.ID = fmt.Sprintf("%08x-%04x-7000-8000-%012d", ms>>16, ms&0xffff, i)
		}
		log.Record(call)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 { // one final write may not suffice on a busy machine
		log.Run(ctx)
	}
	return traffic.New(db, now)
}

// call returns a call of tool up__a of a project p, the given time after noon.
func call(after time.Duration, ms int64, outcome models.Outcome, change ...func(*models.Call)) models.Call {
	c := models.Call{At: noon.Add(after), ProjectID: "p", Principal: "key:1", Tool: "up__a", Server: "Up", DurationUS: ms * 1000, Outcome: outcome}
	for _, f := range change {
		f(&c)
	}
	return c
}

// near reports whether a duration has the documented error at most.
func near(got, want time.Duration) bool {
	return math.Abs(float64(got-want)) <= 0.05*float64(want)
}

var hour = traffic.Period{From: noon, To: noon.Add(time.Hour), Step: 30 * time.Minute}

var p = traffic.Filter{ProjectID: "p"}

func TestSeriesCountsBuckets(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		var calls []models.Call
		for i := range 100 {
			calls = append(calls, call(0, int64(i+1), models.CallOK))
		}
		caller := func(c *models.Call) { c.Principal = "key:2" }
		calls = append(calls,
			call(-time.Millisecond, 1, models.CallOK), call(time.Hour, 1, models.CallOK), // outside
			call(30*time.Minute-time.Millisecond, 50, models.CallOK, caller),
			call(30*time.Minute, 7, models.CallToolError),
			call(45*time.Minute, 9, models.CallCancelled, caller),
			call(time.Hour-time.Millisecond, 5000, models.CallFailed), // no result
			call(time.Minute, 1, models.CallOK, func(c *models.Call) { c.ProjectID = "q" }),
		)
		store := stored(t, db, calls...)
		got, err := store.Series(t.Context(), p, hour)
		if err != nil || len(got) != 2 {
			t.Fatal(got, err)
		}
		for i, want := range []struct {
			calls, failed, callers int
			p50, p95, p99          int
		}{{101, 0, 2, 50, 95, 99}, {3, 2, 2, 7, 7, 7}} {
			b := got[i]
			ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
			if b.Calls != want.calls || b.Failed != want.failed || b.Callers != want.callers || !near(b.P50, ms(want.p50)) || !near(b.P95, ms(want.p95)) || !near(b.P99, ms(want.p99)) {
				t.Errorf("bucket %d = %+v, want %+v", i, b, want)
			}
			if !b.Start.Equal(noon.Add(time.Duration(i)*30*time.Minute)) || b.Partial || b.Missing {
				t.Errorf("bucket %d = %+v", i, b)
			}
		}
		totals, err := store.Totals(t.Context(), p, hour)
		if err != nil || totals.Calls != 104 || totals.Failed != 2 || totals.Callers != 2 || !near(totals.P50, 50*time.Millisecond) || totals.Missing {
			t.Errorf("Totals() = %+v, %v", totals, err)
		}
	})
}

// TestPercentileError compares percentiles with the exact ones for durations
// from 1 µs to 3 hours.
func TestPercentileError(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		var calls []models.Call
		for us := int64(1); us < 3*time.Hour.Microseconds(); us += 1 + us/9 {
			at := time.Duration(len(calls)) * time.Second
			calls = append(calls, call(at, 0, models.CallOK, func(c *models.Call) { c.DurationUS = us }))
		}
		calls = append(calls, call(time.Duration(len(calls))*time.Second, 0, models.CallOK), call(time.Duration(len(calls)+1)*time.Second, -1, models.CallOK))
		seconds := traffic.Period{From: noon, To: noon.Add(time.Duration(len(calls)) * time.Second), Step: time.Second}
		got, err := stored(t, db, calls...).Series(t.Context(), p, seconds)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range got {
			want := time.Duration(max(1, calls[i].DurationUS)) * time.Microsecond
			if b.Calls != 1 || !near(b.P50, want) || b.P50 != b.P99 {
				t.Errorf("%v: %+v", want, b)
			}
		}
	})
}

func TestHeatClasses(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		var calls []models.Call
		for _, limit := range traffic.HeatLimits() {
			for _, us := range []int64{limit.Microseconds() - 1, limit.Microseconds(), limit.Microseconds() + 1} {
				calls = append(calls, call(0, 0, models.CallOK, func(c *models.Call) { c.DurationUS = us }))
			}
		}
		calls = append(calls, call(0, 5, models.CallFailed), call(0, 5, models.CallCancelled))
		r, err := stored(t, db, calls...).Report(t.Context(), p, hour, false)
		if err != nil {
			t.Fatal(err)
		}
		want := [][traffic.HeatClasses]int{{1, 3, 3, 3, 3, 3, 2}, {}}
		if diff := cmp.Diff(want, r.Heat); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestReportComparesEqualParts checks that the part of the previous period that
// has not come yet in this one isn't counted.
func TestReportComparesEqualParts(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		store := stored(t, db,
			call(-30*time.Hour, 1, models.CallOK), // the oldest
			call(-time.Hour-time.Second, 1, models.CallOK), call(-time.Hour, 1, models.CallOK), call(-time.Second, 1, models.CallFailed), call(0, 1, models.CallOK),
			call(59*time.Minute, 1, models.CallOK),
		)
		now := noon.Add(59*time.Minute + 30*time.Second)
		period, ok := traffic.Last("1h", now)
		if !ok || period.Unfinished != 30*time.Second || !period.From.Equal(noon) {
			t.Fatalf("%+v", period)
		}
		r, err := store.Report(t.Context(), p, period, true)
		if err != nil || len(r.Buckets) != 60 || len(r.Before) != 60 || len(r.Heat) != 60 {
			t.Fatal(r, err)
		}
		if r.Totals.Calls != 2 || r.Previous.Calls != 1 || r.Previous.Failed != 0 || r.Previous.Missing {
			t.Errorf("this %+v, previous %+v", r.Totals, r.Previous)
		}
		if r.Buckets[0].Calls != 1 || r.Buckets[59].Calls != 1 || r.Before[0].Calls != 1 || r.Before[59].Calls != 0 {
			t.Errorf("first and last buckets %+v %+v, before %+v %+v", r.Buckets[0], r.Buckets[59], r.Before[0], r.Before[59])
		}
		previous, err := store.Totals(t.Context(), p, period.Previous())
		if err != nil || cmp.Diff(r.Previous, previous) != "" {
			t.Errorf("Totals() = %+v, %v", previous, err)
		}
	})
}

func TestMissingAndPartialBuckets(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		store := stored(t, db, call(10*time.Minute, 1, models.CallOK, func(c *models.Call) { c.ProjectID = "q" }))
		period := traffic.Period{From: noon, To: noon.Add(70 * time.Minute), Step: 10 * time.Minute}
		got, err := store.Series(t.Context(), p, period)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range got {
			if b.Missing != (i == 0) || b.Partial != (i == 6) {
				t.Errorf("bucket %d = %+v", i, b)
			}
		}
		if totals, err := store.Totals(t.Context(), p, period); err != nil || !totals.Missing {
			t.Errorf("Totals() = %+v, %v", totals, err)
		}
		period.From = period.From.Add(10 * time.Minute)
		if totals, err := store.Totals(t.Context(), p, period); err != nil || totals.Missing {
			t.Errorf("Totals() = %+v, %v", totals, err)
		}
	})
}

func TestFilters(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		store := stored(t, db,
			call(0, 1, models.CallOK),
			call(0, 1, models.CallOK, func(c *models.Call) { c.Tool = "up__b" }),
			call(0, 1, models.CallOK, func(c *models.Call) { c.Principal = "key:2" }),
			call(0, 1, models.CallFailed, func(c *models.Call) { c.Tool, c.Server, c.Code = "none", "", "TOOL_NOT_FOUND" }),
			call(0, 1, models.CallOK, func(c *models.Call) { c.Tool, c.Server = "gateway_x", "" }),
			call(0, 1, models.CallOK, func(c *models.Call) { c.ProjectID = "q" }),
		)
		failed := []activity.CallClause{{Field: activity.CallOutcome, Values: []string{"error"}}}
		for name, tt := range map[string]struct {
			filter traffic.Filter
			want   int
		}{
			"all":         {traffic.Filter{}, 6},
			"project":     {p, 5},
			"server":      {traffic.Filter{ProjectID: "p", Server: "uP"}, 3},
			"built-in":    {traffic.Filter{ProjectID: "p", Server: activity.ServerBuiltin}, 1},
			"no server":   {traffic.Filter{ProjectID: "p", Server: activity.ServerNone}, 1},
			"tool":        {traffic.Filter{ProjectID: "p", Tool: "up__b"}, 1},
			"caller":      {traffic.Filter{ProjectID: "p", Caller: "key:2"}, 1},
			"clause":      {traffic.Filter{ProjectID: "p", Clauses: failed}, 1},
			"both":        {traffic.Filter{Server: "up", Clauses: failed}, 0},
			"other case":  {traffic.Filter{Tool: "UP__B"}, 0},
			"other texts": {traffic.Filter{Tool: "up__%' OR 1=1 --"}, 0},
		} {
			got, err := store.Totals(t.Context(), tt.filter, hour)
			if err != nil || got.Calls != tt.want {
				t.Errorf("%s: %d calls, want %d (%v)", name, got.Calls, tt.want, err)
			}
			if n, err := store.Count(t.Context(), tt.filter, hour); err != nil || n != tt.want {
				t.Errorf("%s: Count() = %d, want %d (%v)", name, n, tt.want, err)
			}
		}
		for _, n := range []int{activity.MaxField - 1, activity.MaxField, activity.MaxField + 1} {
			_, err := store.Totals(t.Context(), traffic.Filter{Tool: strings.Repeat("é", n)}, hour)
			if refused := fault.Is(err, fault.CodeInvalidParameter); refused != (n > activity.MaxField) {
				t.Errorf("%d characters: %v", n, err)
			}
		}
	})
}

// TestServerNames groups calls without a server.
func TestServerNames(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		var calls []models.Call
		for i, row := range []models.Call{
			{Tool: "up__a", Server: "Up"},
			{Tool: "gateway_executeTool"},
			{Tool: "gateway_searchMcpForTask", Outcome: models.CallFailed, Code: "INVALID_PARAMETER"},
			{Tool: "gateway_listTools", Outcome: models.CallFailed, Code: "CODE_MODE_DISABLED"},
			{Tool: "gateway_none", Outcome: models.CallFailed, Code: "TOOL_NOT_FOUND"},
			{Tool: "GATEWAY_executeTool", Outcome: models.CallFailed, Code: "TOOL_NOT_FOUND"},
			{Tool: "up__none", Outcome: models.CallFailed, Code: "TOOL_NOT_FOUND"},
			{Tool: "", Outcome: models.CallFailed, Code: "INVALID_PARAMETER"},
		} {
			calls = append(calls, call(time.Duration(i)*time.Minute, 1, row.Outcome, func(c *models.Call) { c.Tool, c.Server, c.Code = row.Tool, row.Server, row.Code }))
		}
		rows, err := stored(t, db, calls...).Top(t.Context(), p, hour, traffic.ByServer, 10)
		counted := map[string]int{}
		for _, row := range rows {
			counted[row.Name] = row.Calls
		}
		if diff := cmp.Diff(map[string]int{"up": 1, activity.ServerBuiltin: 3, activity.ServerNone: 4}, counted); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestTop(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		var calls []models.Call
		for i, tool := range strings.Fields("a a a b b b b c d d gateway_x") {
			outcome := models.CallOK
			if tool == "d" || tool == "c" {
				outcome = models.CallFailed
			}
			calls = append(calls, call(time.Duration(i)*time.Minute, int64(10*(i+1)), outcome, func(c *models.Call) {
				c.Tool = tool
				c.Principal = "key:" + tool
				if tool == "gateway_x" {
					c.Server = ""
				} else if tool != "a" {
					c.Server = "other"
				}
			}))
		}
		store := stored(t, db, calls...)
		names := func(rows []traffic.Row, err error) string {
			var s []string
			for _, r := range rows {
				s = append(s, fmt.Sprint(r.Name, " ", r.Calls, "/", r.Failed))
			}
			if err != nil {
				s = append(s, err.Error())
			}
			return strings.Join(s, ", ")
		}
		for want, got := range map[string]string{
			"b 4/0, a 3/0, d 2/2, c 1/1, gateway_x 1/0": names(store.Top(t.Context(), p, hour, traffic.ByTool, 10)),
			"b 4/0, a 3/0":                   names(store.Top(t.Context(), p, hour, traffic.ByTool, 2)),
			"b 4/0":                          names(store.Top(t.Context(), p, hour, traffic.ByTool, 1)),
			"d 2/2, c 1/1, b 4/0":            names(store.Failing(t.Context(), p, hour, traffic.ByTool, 3)),
			"other 7/3, up 3/0, gateway 1/0": names(store.Top(t.Context(), p, hour, traffic.ByServer, 5)),
			"key:b 4/0, key:a 3/0, key:d 2/2, key:c 1/1, key:gateway_x 1/0": names(store.Top(t.Context(), p, hour, traffic.ByCaller, 5)),
			"": names(store.Top(t.Context(), traffic.Filter{ProjectID: "none"}, hour, traffic.ByTool, 5)),
		} {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		rows, err := store.Top(t.Context(), p, hour, traffic.ByTool, 3)
		if err != nil || !near(rows[0].P50, 50*time.Millisecond) || !rows[0].Last.Equal(noon.Add(6*time.Minute)) || rows[2].P50 != 0 {
			t.Errorf("rows %+v, %v", rows, err)
		}
		for limit, ok := range map[int]bool{0: false, 1: true, 2: true, traffic.MaxRows - 1: true, traffic.MaxRows: true, traffic.MaxRows + 1: false} {
			_, err := store.Top(t.Context(), p, hour, traffic.ByTool, limit)
			_, failed := store.Errors(t.Context(), p, hour, limit)
			if fault.Is(err, fault.CodeInvalidParameter) == ok || fault.Is(failed, fault.CodeInvalidParameter) == ok {
				t.Errorf("limit %d: %v, %v", limit, err, failed)
			}
		}
		if _, err := store.Top(t.Context(), p, hour, "1; --", 3); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Error(err)
		}
	})
}

func TestErrors(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		code := func(s string) func(*models.Call) { return func(c *models.Call) { c.Code = s } }
		store := stored(t, db,
			call(0, 1, models.CallFailed, code("UPSTREAM_TIMEOUT")), call(time.Minute, 1, models.CallFailed, code("UPSTREAM_TIMEOUT")),
			call(2*time.Minute, 1, models.CallToolError), call(3*time.Minute, 1, models.CallCancelled, code("CANCELLED")), call(4*time.Minute, 1, models.CallOK),
		)
		got, err := store.Errors(t.Context(), p, hour, 5)
		want := []traffic.ErrorRow{
			{Code: "UPSTREAM_TIMEOUT", Tool: "up__a", Calls: 2, First: noon, Last: noon.Add(time.Minute)},
			{Tool: "up__a", Calls: 1, First: noon.Add(2 * time.Minute), Last: noon.Add(2 * time.Minute)},
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if got, err := store.Errors(t.Context(), p, hour, 1); err != nil || len(got) != 1 {
			t.Error(got, err)
		}
	})
}

func TestProjects(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		store := stored(t, db,
			call(0, 10, models.CallOK), call(40*time.Minute, 20, models.CallFailed), call(50*time.Minute, 30, models.CallOK),
			call(35*time.Minute, 40, models.CallOK, func(c *models.Call) { c.ProjectID = "q" }),
			call(-time.Hour, 1, models.CallOK, func(c *models.Call) { c.ProjectID = "old" }),
		)
		series, err := store.Projects(t.Context(), hour)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string][]int{}
		for id, buckets := range series {
			for _, b := range buckets {
				counts[id] = append(counts[id], b.Calls, b.Failed)
			}
			alone, err := store.Series(t.Context(), traffic.Filter{ProjectID: id}, hour)
			for i := range alone {
				alone[i].Callers = 0
			}
			if diff := cmp.Diff(alone, buckets); err != nil || diff != "" {
				t.Errorf("%s: %v (-series +got):\n%s", id, err, diff)
			}
		}
		if diff := cmp.Diff(map[string][]int{"p": {1, 0, 2, 1}, "q": {0, 0, 1, 0}}, counts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		totals, err := store.ProjectTotals(t.Context(), hour)
		if err != nil || len(totals) != 2 || totals["p"].Calls != 3 || totals["p"].Failed != 1 || !near(totals["p"].P95, 10*time.Millisecond) || totals["q"].Calls != 1 {
			t.Errorf("ProjectTotals() = %+v, %v", totals, err)
		}
		if at, err := store.LastCall(t.Context(), "old"); err != nil || !at.Equal(noon.Add(-time.Hour)) {
			t.Error(at, err)
		}
		if at, err := store.LastCall(t.Context(), "unknown"); err != nil || !at.IsZero() {
			t.Error(at, err)
		}
	})
}
