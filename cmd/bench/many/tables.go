package many

import (
	"fmt"

	"mcpgateway/cmd/bench/measure"
)

// Tables returns a table of the process and one of pages.
func (r *Report) Tables() []measure.Table {
	row := func(name string, v measure.Range, format func(float64) string) []string {
		return []string{name, format(v.Median), format(v.Max)}
	}
	p := &r.Plan
	process := measure.Table{
		Head: []string{"two replicas", "median", "highest"},
		Rows: [][]string{
			row("start, until /readyz succeeds", r.Start, measure.FormatMicros),
			row("memory of a replica", r.Memory, measure.FormatMiB),
			row("peak memory at the start", r.Peak, measure.FormatMiB),
			row("a new key works on the other replica after", r.Effects.KeyCreated, measure.FormatMicros),
			row("a revoked key stops there after", r.Effects.KeyRevoked, measure.FormatMicros),
			row("a disabled server's tools are gone there after", r.Effects.ServerDisabled, measure.FormatMicros),
			row("an enabled server's tools are there after", r.Effects.ServerEnabled, measure.FormatMicros),
		},
		Note: fmt.Sprintf("With %s projects, %s servers of %d tools, %s keys, %s people and %s connections of people to servers on PostgreSQL. Replicas start with the stored tools.",
			measure.FormatCount(p.Projects), measure.FormatCount(p.Servers), toolsPerUpstream, measure.FormatCount(p.Keys), measure.FormatCount(p.People),
			measure.FormatCount(p.Connections)),
	}
	pages := measure.Table{
		Head: []string{"page", "median", "highest", "HTML"},
		Note: fmt.Sprintf("The largest project has %s of the keys, and everyone is its member. The call log has %s calls.",
			measure.FormatCount(p.Keys/largestShare), measure.FormatCount(p.Calls)),
	}
	for _, page := range r.Pages {
		pages.Rows = append(pages.Rows, append(row(page.Name, page.Took, measure.FormatMicros), measure.FormatNumber(float64(page.Size)/1024)+" KiB"))
	}
	return []measure.Table{process, pages}
}
