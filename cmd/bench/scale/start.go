package scale

import (
	"context"

	"mcpgateway/cmd/bench/bed"
	"mcpgateway/cmd/bench/report"
)

// Start is how a gateway with the built-in catalog begins.
type Start struct {
	First report.Range `json:"firstUs"` // without a database, until /readyz, in microseconds
	Later report.Range `json:"laterUs"` // with the database of an earlier start
	Idle  report.Range `json:"idleMiB"` // resident memory, left alone after a later start
	Peak  report.Range `json:"peakMiB"` // until then
}

// start starts gateways on new databases, each twice.
func (r *runner) start(ctx context.Context) (Start, error) {
	var first, later, idle, peak []float64
	for range r.Starts {
		home, err := r.home()
		if err != nil {
			return Start{}, err
		}
		g, err := home.Serve(ctx)
		if err != nil {
			return Start{}, err
		}
		first = append(first, micros(g.Start))
		g.Stop()
		if g, err = home.Serve(ctx); err != nil {
			return Start{}, err
		}
		later = append(later, micros(g.Start))
		memory, err := r.idle(ctx, g)
		g.Stop()
		if err != nil {
			return Start{}, err
		}
		idle, peak = append(idle, mib(memory.Now)), append(peak, mib(memory.Peak))
	}
	return Start{First: report.RangeOf(first...), Later: report.RangeOf(later...), Idle: report.RangeOf(idle...), Peak: report.RangeOf(peak...)}, nil
}

func (r *runner) idle(ctx context.Context, g *bed.Gateway) (bed.Memory, error) {
	if err := bed.Pause(ctx, r.Settle); err != nil {
		return bed.Memory{}, err
	}
	return bed.MemoryOf(g.PID())
}

// Table returns the medians and bounds.
func (s *Start) Table() report.Table {
	row := func(name string, r report.Range, format func(float64) string) []string {
		return []string{name, format(r.Median), format(r.Min), format(r.Max)}
	}
	return report.Table{
		Head: []string{"with the built-in catalog, on SQLite", "median", "lowest", "highest"},
		Rows: [][]string{
			row("first start, until /readyz", s.First, report.Micros),
			row("later start, until /readyz", s.Later, report.Micros),
			row("idle memory", s.Idle, report.MiB),
			row("peak memory until then", s.Peak, report.MiB),
		},
	}
}
