package scale

import (
	"context"
	"time"

	"mcpgateway/cmd/bench/bed"
	"mcpgateway/cmd/bench/report"
)

// Start is how a gateway with the built-in catalog begins.
type Start struct {
	First report.Range `json:"firstUs"` // without a database, until /readyz, in microseconds
	Later report.Range `json:"laterUs"` // with the database of an earlier start
	// FirstCPU and LaterCPU are the processor time until then, in microseconds.
	FirstCPU report.Range `json:"firstCpuUs"`
	LaterCPU report.Range `json:"laterCpuUs"`
	Idle     report.Range `json:"idleMiB"` // resident memory, left alone after a later start
	Peak     report.Range `json:"peakMiB"` // until then
}

// start starts gateways on new databases, each twice.
func (r *runner) start(ctx context.Context) (Start, error) {
	var took, cpu [2][]float64
	var idle, peak []float64
	for range r.Starts {
		home, err := r.home()
		if err != nil {
			return Start{}, err
		}
		for again := range took {
			g, err := home.Serve(ctx)
			if err != nil {
				return Start{}, err
			}
			memory, spent, err := r.idle(ctx, g, again == 1)
			g.Stop()
			if err != nil {
				return Start{}, err
			}
			took[again], cpu[again] = append(took[again], micros(g.Start)), append(cpu[again], micros(spent))
			if again == 1 {
				idle, peak = append(idle, mib(memory.Now)), append(peak, mib(memory.Peak))
			}
		}
	}
	return Start{
		First: report.RangeOf(took[0]...), FirstCPU: report.RangeOf(cpu[0]...), Later: report.RangeOf(took[1]...), LaterCPU: report.RangeOf(cpu[1]...),
		Idle: report.RangeOf(idle...), Peak: report.RangeOf(peak...),
	}, nil
}

// idle returns the processor time of a gateway that has just become ready, and
// its memory, after it was left alone if that is wanted.
func (r *runner) idle(ctx context.Context, g *bed.Gateway, settle bool) (bed.Memory, time.Duration, error) {
	spent, err := bed.CPU(g.PID())
	if err != nil {
		return bed.Memory{}, 0, err
	}
	if settle {
		if err := bed.Pause(ctx, r.Settle); err != nil {
			return bed.Memory{}, 0, err
		}
	}
	m, err := bed.MemoryOf(g.PID())
	return m, spent, err
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
			row("CPU until then", s.FirstCPU, report.Micros),
			row("later start, until /readyz", s.Later, report.Micros),
			row("CPU until then", s.LaterCPU, report.Micros),
			row("idle memory", s.Idle, report.MiB),
			row("peak memory until then", s.Peak, report.MiB),
		},
	}
}
