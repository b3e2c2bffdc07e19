package measure

import (
	"context"
	"time"

	"mcpgateway/cmd/internal/stage"
)

// Start describes the startup of a gateway with the built-in catalog.
type Start struct {
	First Range `json:"firstUs"` // without a database, until /readyz succeeds, in microseconds
	Later Range `json:"laterUs"` // with an existing database, in microseconds
	// FirstCPU and LaterCPU are the CPU time until then, in microseconds.
	FirstCPU Range `json:"firstCpuUs"`
	LaterCPU Range `json:"laterCpuUs"`
	Idle     Range `json:"idleMiB"` // resident memory after a later start, once settled
	Peak     Range `json:"peakMiB"` // peak until then
}

// start starts each gateway twice: with a new database and with the existing one.
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

// idle returns the memory and the CPU time of a gateway that has just become
// ready. If settle is set, memory is read after it has settled.
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

// Table returns the medians, minimums and maximums.
func (s *Start) Table() Table {
	row := func(name string, r Range, format func(float64) string) []string {
		return []string{name, format(r.Median), format(r.Min), format(r.Max)}
	}
	return Table{
		Head: []string{"with the built-in catalog, on SQLite", "median", "lowest", "highest"},
		Rows: [][]string{
			row("first start, until /readyz succeeds", s.First, FormatMicros),
			row("CPU until then", s.FirstCPU, FormatMicros),
			row("later start, until /readyz succeeds", s.Later, FormatMicros),
			row("CPU until then", s.LaterCPU, FormatMicros),
			row("idle memory", s.Idle, FormatMiB),
			row("peak memory until then", s.Peak, FormatMiB),
		},
	}
}
