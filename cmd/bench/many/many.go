// Package many measures a gateway with many projects, servers, keys, people and
// connections on PostgreSQL.
package many

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"mcpgateway/cmd/bench/measure"
	"mcpgateway/cmd/internal/stage"
)

// Plan configures Run.
type Plan struct {
	Sizes
	Database string        `json:"-"`      // DSN of an empty PostgreSQL database
	Times    int           `json:"times"`  // requests of a page, changes, and starts
	Settle   time.Duration `json:"settle"` // before memory is read
}

// Check returns an error if the plan can't be run.
func (p Plan) Check() error {
	if p.Times < 1 || p.Settle < 0 {
		return fmt.Errorf("needs at least one measurement, and no negative pause")
	}
	return p.check()
}

// Report is the result of Run.
type Report struct {
	Plan    Plan          `json:"plan"`
	Seeded  time.Duration `json:"seeded"`
	Start   measure.Range `json:"startUs"`
	Memory  measure.Range `json:"memoryMiB"` // resident, once settled
	Peak    measure.Range `json:"peakMiB"`
	Effects *Effects      `json:"effects"`
	Pages   []Page        `json:"pages"`
}

const (
	// upstreams is the number of MCP servers that are served; the rows share them.
	upstreams        = 50
	toolsPerUpstream = 10

	adminEmail    = "ada@example.com"
	adminPassword = "measured-by-the-bench-4711" //nolint:gosec // of a database that lives for minutes
	adminToken    = "bench-token-0123456789abcdef0123456789abcdef"
	keyRing       = "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
)

// runner has what the measurements share.
type runner struct {
	measure.Programs
	Plan
	home *stage.Home
}

// Run fills the database and measures two replicas on it.
func Run(ctx context.Context, programs measure.Programs, p Plan, progress func(string)) (*Report, error) {
	upstream, err := measure.StartChild(ctx, programs.Self, programs.Folder, "upstream", "-servers", strconv.Itoa(upstreams), "-tools", strconv.Itoa(toolsPerUpstream))
	if err != nil {
		return nil, err
	}
	defer upstream.Stop()
	r := &runner{Programs: programs, Plan: p}
	if r.home, err = r.newHome("first"); err != nil {
		return nil, err
	}
	report := &Report{Plan: p}
	progress("rows")
	begin := time.Now()
	sizes := p.Sizes
	sizes.People-- // and the administrator
	err = seed(ctx, p.Database, sizes, func(n int) string { return upstream.URL + measure.UpstreamPath(n%upstreams) })
	if err != nil {
		return nil, err
	}
	report.Seeded = time.Since(begin)
	if err := r.home.Administrator(ctx, adminEmail, adminPassword); err != nil {
		return nil, err
	}
	progress("starts")
	if err := r.starts(ctx, report); err != nil {
		return nil, err
	}
	return report, r.replicas(ctx, report, progress)
}

// newHome returns the folder of a replica.
func (r *runner) newHome(name string) (*stage.Home, error) {
	return stage.NewHome(r.Gateway, filepath.Join(r.Folder, name), "GATEWAY_DATABASE_URL="+r.Database, "GATEWAY_SECRETS_KEYS="+keyRing, "GATEWAY_ADMIN_TOKEN="+adminToken)
}

// starts measures startup with everything stored.
func (r *runner) starts(ctx context.Context, report *Report) error {
	var took, memory, peak []float64
	for range r.Times {
		g, err := r.home.Serve(ctx)
		if err != nil {
			return err
		}
		took = append(took, float64(g.Start)/float64(time.Microsecond))
		err = stage.Pause(ctx, r.Settle)
		var m measure.Memory
		if err == nil {
			m, err = measure.MemoryOf(g.PID())
		}
		g.Stop()
		if err != nil {
			return err
		}
		memory, peak = append(memory, float64(m.Now)/(1<<20)), append(peak, float64(m.Peak)/(1<<20))
	}
	report.Start, report.Memory, report.Peak = measure.RangeOf(took...), measure.RangeOf(memory...), measure.RangeOf(peak...)
	return nil
}

// replicas measures changes and pages with two replicas.
func (r *runner) replicas(ctx context.Context, report *Report, progress func(string)) error {
	first, err := r.home.Serve(ctx)
	if err != nil {
		return err
	}
	defer first.Stop()
	other, err := r.newHome("second")
	if err != nil {
		return err
	}
	second, err := other.Serve(ctx)
	if err != nil {
		return err
	}
	defer second.Stop()
	if err := stage.Pause(ctx, r.Settle); err != nil {
		return err
	}
	progress("changes")
	if report.Effects, err = measureEffects(ctx, client{first.Address, second.Address, adminToken}, r.Times); err != nil {
		return err
	}
	progress("pages")
	b, err := signIn(ctx, first.Address, adminEmail, adminPassword)
	if err != nil {
		return err
	}
	report.Pages, err = measurePages(ctx, b, 2*r.Times)
	return err
}
