package measure_test

import (
	"math"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"mcpgateway/cmd/bench/load"
	"mcpgateway/cmd/bench/measure"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestRelateComparesRoundByRound(t *testing.T) {
	c := measure.Comparison{Targets: []measure.Measured{
		{Target: measure.Direct, Rounds: []measure.Sample{{PerSecond: 9, P50: 50}, {PerSecond: 9, P50: 70}, {PerSecond: 9, P50: 60}}},
		{Target: measure.Floor, Rounds: []measure.Sample{{PerSecond: 100, CPU: 10, PeakMiB: 8}, {PerSecond: 200, CPU: 20, PeakMiB: 9}, {PerSecond: 300, CPU: 30, PeakMiB: 7}}},
		{Target: measure.Gateway, Rounds: []measure.Sample{{PerSecond: 80, CPU: 30, P50: 150}, {PerSecond: 100, CPU: 30, P50: 150}, {PerSecond: 180, CPU: 30, P50: 400}}},
	}}
	c.Relate()
	near := func(name string, got, want measure.Range) {
		t.Helper()
		if math.Abs(got.Median-want.Median)+math.Abs(got.Min-want.Min)+math.Abs(got.Max-want.Max) > 1e-9 {
			t.Errorf("%s = %+v, want %+v", name, got, want)
		}
	}
	near("Throughput", c.Throughput, measure.Range{Median: 0.6, Min: 0.5, Max: 0.8})
	near("CPU", c.CPU, measure.Range{Median: 1.5, Min: 1, Max: 3})
	near("AddedP50", c.AddedP50, measure.Range{Median: 100, Min: 80, Max: 340})
	if m := c.Targets[1].Medians; m.PerSecond != 200 || m.CPU != 20 || m.PeakMiB != 9 {
		t.Errorf("medians of the floor = %+v, want 200 calls/s, 20 µs CPU, 9 MiB", m)
	}
}

func TestRelateSkipsZeroDivisors(t *testing.T) {
	c := measure.Comparison{Targets: []measure.Measured{
		{Target: measure.Floor, Rounds: []measure.Sample{{PerSecond: 100}, {PerSecond: 100, CPU: 10}}},
		{Target: measure.Gateway, Rounds: []measure.Sample{{PerSecond: 50, CPU: 30}, {PerSecond: 50, CPU: 40}}},
	}}
	c.Relate()
	if c.CPU != (measure.Range{Median: 4, Min: 4, Max: 4}) || c.AddedP50 != (measure.Range{}) {
		t.Errorf("CPU = %+v, AddedP50 = %+v, want 4 and zero", c.CPU, c.AddedP50)
	}
}

// target starts a server in this process and returns it as a target.
func target(t *testing.T, name string, tools int) measure.Target {
	t.Helper()
	s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(tools), Answer: upstreamtest.AnswerJSON})
	u, err := url.Parse(s.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	return measure.Target{Name: name, PID: os.Getpid(), Endpoint: load.Endpoint{Address: u.Host, Path: u.Path, Revision: load.Stateless, Tool: "echo"}}
}

func TestCompareMeasuresAllTargetsAndLoads(t *testing.T) {
	plan := measure.CallPlan{Connections: []int{1, 3}, Rounds: 2, Duration: 10 * time.Millisecond, Warmup: time.Millisecond, Rate: 1000, RateConnections: 2}
	targets := []measure.Target{target(t, measure.Direct, 1), target(t, measure.Floor, 1), target(t, measure.Gateway, 1)}
	var steps []string
	loads, err := measure.Compare(t.Context(), targets, plan, func(step string) { steps = append(steps, step) })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(steps, "; "), "1 connection; 3 connections; 1,000 calls/s, open loop"; got != want {
		t.Errorf("progress = %q, want %q", got, want)
	}
	for _, l := range loads {
		for _, m := range l.Targets {
			if len(m.Rounds) != 2 || m.Medians.PerSecond <= 0 || m.Medians.P50 <= 0 || m.Medians.P99 < m.Medians.P50 || m.Medians.PeakMiB <= 0 {
				t.Errorf("%s of %s: %+v", l.Load(), m.Target, m)
			}
		}
		if l.Throughput.Median <= 0 {
			t.Errorf("%s: Throughput = %+v, want a positive median", l.Load(), l.Throughput)
		}
	}
	r := measure.CallReport{Loads: loads, Allocations: 123}
	tables := r.Tables()
	if len(tables) != 2 || len(tables[0].Rows) != 9 || len(tables[1].Rows) != 3 || !strings.Contains(tables[1].Note, "123 allocations") {
		t.Errorf("Tables() = %+v, want 9 and 3 rows and a note with 123 allocations", tables)
	}
	for _, table := range tables {
		for _, row := range table.Rows {
			if len(row) != len(table.Head) {
				t.Errorf("row %q has another number of cells than head %q", row, table.Head)
			}
		}
	}
}

func TestFailedCallEndsComparison(t *testing.T) {
	plan := measure.CallPlan{Connections: []int{2}, Rounds: 1, Duration: time.Minute, Warmup: time.Millisecond}
	broken := target(t, measure.Gateway, 1)
	broken.Endpoint.Tool = "absent"
	_, err := measure.Compare(t.Context(), []measure.Target{broken}, plan, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "2 connections: gateway: ") {
		t.Errorf("Compare() = %v, want an error that names the load and the target", err)
	}
}
