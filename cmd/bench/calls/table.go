package calls

import (
	"fmt"

	"mcpgateway/cmd/bench/report"
)

// Tables returns the figures of every target under every load, and how the
// gateway relates to the others.
func (r *Report) Tables() []report.Table {
	each := report.Table{Head: []string{"load", "", "calls/s", "p50", "p99", "CPU per call", "peak memory"}}
	against := report.Table{Head: []string{"load", "throughput of the floor's", "lowest to highest round", "CPU of the floor's", "added p50"}}
	for _, c := range r.Loads {
		name := c.Load()
		for _, t := range c.Targets {
			m := t.Medians
			each.Rows = append(each.Rows, []string{
				name, t.Target, report.Number(m.PerSecond), report.Micros(m.P50), report.Micros(m.P99), report.Micros(m.CPU), report.MiB(m.PeakMiB),
			})
			name = ""
		}
		// In an open loop all do the same calls, so their number tells nothing.
		throughput, span := "–", "–"
		if c.Rate == 0 {
			throughput, span = fmt.Sprintf("%.2f", c.Throughput.Median), fmt.Sprintf("%.2f to %.2f", c.Throughput.Min, c.Throughput.Max)
		}
		added := "–" // without a direct call
		if c.Way == "" {
			added = report.Micros(c.AddedP50.Median)
		}
		against.Rows = append(against.Rows, []string{c.Load(), throughput, span, fmt.Sprintf("× %.2f", c.CPU.Median), added})
	}
	against.Note = fmt.Sprintf("The gateway makes %.0f allocations (%.1f KiB) per call and held %.1f MiB before the first.", r.Allocations, r.AllocatedBytes/1024, r.IdleMiB)
	return []report.Table{each, against}
}
