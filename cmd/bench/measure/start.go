package measure

import (
	"context"
	"time"

	"mcpgateway/cmd/internal/stage"
)

// Start is how a gateway with the built-in catalog begins.
type Start struct {
	First Range `json:"firstUs"` // without a database, until /readyz, in microseconds
	Later Range `json:"laterUs"` // with the database of an earlier start
	// FirstCPU and LaterCPU are the processor time until then, in microseconds.
	FirstCPU Range `json:"firstCpuUs"`
	LaterCPU Range `json:"laterCpuUs"`
	Idle     Range `json:"idleMiB"` // resident memory, left alone after a later start
	Peak     Range `json:"peakMiB"` // until then
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
		First: RangeOf(took[0]...), FirstCPU: RangeOf(cpu[0]...), Later: RangeOf(took[1]...), LaterCPU: RangeOf(cpu[1]...),
		Idle: RangeOf(idle...), Peak: RangeOf(peak...),
	}, nil
}

// idle returns the processor time of a gateway that has just become ready, and
// its memory, after it was left alone if that is wanted.
func (r *runner) idle(ctx context.Context, g *stage.Gateway, settle bool) (Memory, time.Duration, error) {
	spent, err := CPU(g.PID())
	if err != nil {
		return Memory{}, 0, err
	}
	if settle {
		if err := stage.Pause(ctx, r.Settle); err != nil {
			return Memory{}, 0, err
		}
	}
	m, err := MemoryOf(g.PID())
	return m, spent, err
}

// Table returns the medians and bounds.
func (s *Start) Table() Table {
	row := func(name string, r Range, format func(float64) string) []string {
		return []string{name, format(r.Median), format(r.Min), format(r.Max)}
	}
	return Table{
		Head: []string{"with the built-in catalog, on SQLite", "median", "lowest", "highest"},
		Rows: [][]string{
			row("first start, until /readyz", s.First, FormatMicros),
			row("CPU until then", s.FirstCPU, FormatMicros),
			row("later start, until /readyz", s.Later, FormatMicros),
			row("CPU until then", s.LaterCPU, FormatMicros),
			row("idle memory", s.Idle, FormatMiB),
			row("peak memory until then", s.Peak, FormatMiB),
		},
	}
}
