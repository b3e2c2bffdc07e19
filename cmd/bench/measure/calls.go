// Package measure implements the measurements of command bench. It compares calls
// through the gateway with direct calls and calls through a bare proxy (the
// floor), and measures startup, memory and latency as a gateway scales. It also
// contains the upstream servers, the floor and the tables of results.
package measure

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"mcpgateway/cmd/bench/load"
	"mcpgateway/cmd/internal/stage"
)

const project, alias = "bench", "up"

const anyPort = "127.0.0.1:0"

// CallReport is the result of RunCalls.
type CallReport struct {
	Plan  CallPlan     `json:"plan"`
	Loads []Comparison `json:"loads"`
	// IdleMiB is the gateway's resident memory before the first call.
	IdleMiB float64 `json:"idleMiB"`
	// Allocations and AllocatedBytes are the heap allocations of the gateway's
	// process per call, background work excluded.
	Allocations    float64 `json:"allocationsPerCall"`
	AllocatedBytes float64 `json:"allocatedBytesPerCall"`
}

// RunCalls starts an upstream server, and a floor and a gateway in front of it,
// and compares them. The gateway uses SQLite, an API key, the call log and
// metrics.
func RunCalls(ctx context.Context, b Programs, p CallPlan, progress func(string)) (*CallReport, error) {
	upstream, err := StartChild(ctx, b.Self, b.Folder, "upstream", "-tools", "10", "-addr", cmp.Or(p.Upstream, anyPort))
	if err != nil {
		return nil, err
	}
	defer upstream.Stop()
	floor, err := StartChild(ctx, b.Self, b.Folder, "floor", "-to", upstream.Address)
	if err != nil {
		return nil, err
	}
	defer floor.Stop()
	home, err := stage.NewHome(b.Gateway, filepath.Join(b.Folder, "calls"))
	if err != nil {
		return nil, err
	}
	gateway, key, err := serveProject(ctx, home, upstream)
	if err != nil {
		return nil, err
	}
	defer gateway.Stop()
	targets := []Target{
		{Name: Direct, PID: upstream.PID(), Endpoint: load.Endpoint{Address: upstream.Address, Path: UpstreamPath(0), Tool: "echo"}},
		{Name: Floor, PID: floor.PID(), Endpoint: load.Endpoint{Address: floor.Address, Path: UpstreamPath(0), Tool: "echo"}},
		{Name: Gateway, PID: gateway.PID(), Endpoint: load.Endpoint{Address: gateway.Address, Path: stage.ProjectPath(project), Tool: alias + "__echo", Key: key}},
	}
	measured := targets[len(targets)-1].Endpoint
	measured.Revision = p.Revision
	if p.Other != nil {
		targets = append(targets, *p.Other)
	}
	for i := range targets {
		targets[i].Endpoint.Revision = p.Revision
	}
	r := &CallReport{Plan: p}
	memory, err := MemoryOf(gateway.PID())
	if err != nil {
		return nil, err
	}
	r.IdleMiB = float64(memory.Now) / (1 << 20)
	if r.Loads, err = Compare(ctx, targets, p, progress); err != nil {
		return nil, err
	}
	progress("allocations")
	if err := r.allocations(ctx, gateway, measured, p.Duration); err != nil {
		return nil, err
	}
	if !p.Ways {
		return r, nil
	}
	ways, err := CompareWays(ctx, b, p, Ways(), progress)
	r.Loads = append(r.Loads, ways...)
	return r, err
}

// serveProject starts a gateway with one project and one server, and returns a
// key of the project.
func serveProject(ctx context.Context, home *stage.Home, upstream *Child) (gateway *stage.Gateway, key string, err error) {
	if err := home.Apply(ctx, map[string]stage.Project{project: stage.KeyedProject(map[string]string{alias: upstream.URL + UpstreamPath(0)})}); err != nil {
		return nil, "", err
	}
	if key, err = home.Key(ctx, project); err != nil {
		return nil, "", err
	}
	if gateway, err = home.Serve(ctx); err != nil {
		return nil, "", err
	}
	if err := gateway.AwaitTools(ctx, project, key, alias); err != nil {
		gateway.Stop()
		return nil, "", err
	}
	return gateway, key, nil
}

// allocations measures the allocations per call. It subtracts those of an idle
// process.
func (r *CallReport) allocations(ctx context.Context, g *stage.Gateway, e load.Endpoint, d time.Duration) error {
	clients, err := load.OpenAll(ctx, e, 8)
	if err != nil {
		return err
	}
	defer load.CloseAll(clients)
	if _, err := load.ClosedLoop(ctx, clients, d/4); err != nil {
		return err
	}
	idle, err := allocated(ctx, g, func() error { return nil })
	if err != nil {
		return err
	}
	calls := 0
	busy, err := allocated(ctx, g, func() error {
		run, err := load.ClosedLoop(ctx, clients, d)
		if err == nil {
			calls = run.Count()
		}
		return err
	})
	if err != nil {
		return err
	}
	r.Allocations = (busy.Objects - idle.Objects) / float64(calls)
	r.AllocatedBytes = (busy.Bytes - idle.Bytes) / float64(calls)
	return nil
}

// Tables returns a table with the figures of every target under every load, and a
// table that compares the gateway with the floor and a direct call.
func (r *CallReport) Tables() []Table {
	each := Table{Head: []string{"load", "", "calls/s", "p50", "p99", "CPU per call", "peak memory"}}
	against := Table{Head: []string{"load", "throughput relative to floor", "min to max of rounds", "CPU relative to floor", "added p50"}}
	for _, c := range r.Loads {
		name := c.Load()
		for _, t := range c.Targets {
			m := t.Medians
			each.Rows = append(each.Rows, []string{
				name, t.Target, FormatNumber(m.PerSecond), FormatMicros(m.P50), FormatMicros(m.P99), FormatMicros(m.CPU), FormatMiB(m.PeakMiB),
			})
			name = ""
		}
		// In an open loop, all targets receive the same number of calls.
		throughput, span := "–", "–"
		if c.Rate == 0 {
			throughput, span = fmt.Sprintf("%.2f", c.Throughput.Median), fmt.Sprintf("%.2f to %.2f", c.Throughput.Min, c.Throughput.Max)
		}
		added := "–" // without a direct call
		if c.Way == "" {
			added = FormatMicros(c.AddedP50.Median)
		}
		against.Rows = append(against.Rows, []string{c.Load(), throughput, span, fmt.Sprintf("× %.2f", c.CPU.Median), added})
	}
	against.Note = fmt.Sprintf("The gateway makes %.0f allocations (%.1f KiB) per call. Before the first call, it used %.1f MiB.", r.Allocations, r.AllocatedBytes/1024, r.IdleMiB)
	return []Table{each, against}
}
