package calls

import (
	"context"
	"path/filepath"
	"time"

	"mcpgateway/cmd/bench/bed"
	"mcpgateway/cmd/bench/load"
)

const project, alias = "bench", "up"

// Report is what a side-by-side measurement found.
type Report struct {
	Plan  Plan         `json:"plan"`
	Loads []Comparison `json:"loads"`
	// IdleMiB is the gateway's resident memory before the first call.
	IdleMiB float64 `json:"idleMiB"`
	// Allocations and AllocatedBytes are those of the gateway's process per
	// call, everything included.
	Allocations    float64 `json:"allocationsPerCall"`
	AllocatedBytes float64 `json:"allocatedBytesPerCall"`
}

// Run starts an upstream server, the floor before it, and a gateway with
// SQLite, an API key, the log of calls and metrics, and compares them.
func Run(ctx context.Context, b bed.Programs, p Plan, progress func(string)) (*Report, error) {
	upstream, err := bed.StartChild(ctx, b.Self, b.Folder, "upstream", "-tools", "10")
	if err != nil {
		return nil, err
	}
	defer upstream.Stop()
	floor, err := bed.StartChild(ctx, b.Self, b.Folder, "floor", "-to", upstream.Address)
	if err != nil {
		return nil, err
	}
	defer floor.Stop()
	home, err := bed.NewHome(b.Gateway, filepath.Join(b.Folder, "calls"))
	if err != nil {
		return nil, err
	}
	gateway, key, err := serveProject(ctx, home, upstream)
	if err != nil {
		return nil, err
	}
	defer gateway.Stop()
	targets := []Target{
		{Name: Direct, PID: upstream.PID(), Endpoint: load.Endpoint{Address: upstream.Address, Path: bed.UpstreamPath(0), Tool: "echo"}},
		{Name: Floor, PID: floor.PID(), Endpoint: load.Endpoint{Address: floor.Address, Path: bed.UpstreamPath(0), Tool: "echo"}},
		{Name: Gateway, PID: gateway.PID(), Endpoint: load.Endpoint{Address: gateway.Address, Path: bed.ProjectPath(project), Tool: alias + "__echo", Key: key}},
	}
	for i := range targets {
		targets[i].Endpoint.Revision = p.Revision
	}
	r := &Report{Plan: p}
	memory, err := bed.MemoryOf(gateway.PID())
	if err != nil {
		return nil, err
	}
	r.IdleMiB = float64(memory.Now) / (1 << 20)
	if r.Loads, err = Compare(ctx, targets, p, progress); err != nil {
		return nil, err
	}
	progress("allocations")
	if err := r.allocations(ctx, gateway, targets[len(targets)-1].Endpoint, p.Duration); err != nil {
		return nil, err
	}
	if !p.Ways {
		return r, nil
	}
	ways, err := CompareWays(ctx, b, p, Ways(), progress)
	r.Loads = append(r.Loads, ways...)
	return r, err
}

// serveProject starts a gateway with one project and its server, and returns a
// key of the project.
func serveProject(ctx context.Context, home *bed.Home, upstream *bed.Child) (gateway *bed.Gateway, key string, err error) {
	if err := home.Apply(ctx, bed.Declare(project, map[string]string{alias: upstream.URL + bed.UpstreamPath(0)})); err != nil {
		return nil, "", err
	}
	if key, err = home.Key(ctx, project); err != nil {
		return nil, "", err
	}
	if gateway, err = home.Serve(ctx); err != nil {
		return nil, "", err
	}
	if err := gateway.AwaitSyncs(ctx, 1); err != nil {
		gateway.Stop()
		return nil, "", err
	}
	return gateway, key, nil
}

// allocations measures what a call allocates, without what the process does
// besides.
func (r *Report) allocations(ctx context.Context, g *bed.Gateway, e load.Endpoint, d time.Duration) error {
	clients, err := load.OpenAll(ctx, e, 8)
	if err != nil {
		return err
	}
	defer load.CloseAll(clients)
	if _, err := load.Closed(ctx, clients, d/4); err != nil {
		return err
	}
	idle, err := g.Allocated(ctx, func() error { return nil })
	if err != nil {
		return err
	}
	calls := 0
	busy, err := g.Allocated(ctx, func() error {
		run, err := load.Closed(ctx, clients, d)
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
