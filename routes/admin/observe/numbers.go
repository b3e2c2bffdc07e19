package observe

import (
	"context"
	"strconv"

	"mcpgateway/services/activity"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/ui"
)

// breakdownRows is the number of tools, servers and callers on a page.
const breakdownRows = 6

// numbers sets the numbers and charts of the page.
func (a *Activity) numbers(ctx context.Context, p *views.ActivityProps, project *toolset.Snapshot, q *activityQuery) error {
	report, err := a.Traffic.Report(ctx, q.scope, q.times.period, q.compare)
	if err != nil {
		return err
	}
	p.Stats, p.Charts, p.Missing = statsOf(report, q.compare), chartsOf(report, q), report.Totals.Missing
	counts, err := a.counts(ctx, q, project)
	if err != nil {
		return err
	}
	p.Search.Chips = q.chips(counts)
	if p.Matches, err = a.matches(ctx, q); err != nil {
		return err
	}
	return a.breakdowns(ctx, p, q)
}

// statsOf returns the numbers of a period and their changes.
func statsOf(r *traffic.Report, compare bool) []ui.StatCellProps {
	now, before := r.Totals, r.Previous
	rate := func(t traffic.Totals) float64 { return 100 * float64(t.Failed) / float64(max(1, t.Calls)) }
	calls := ui.StatCellProps{Label: "Calls", Value: ui.Count(now.Calls)}
	failed := ui.StatCellProps{Label: "Failed", Hint: ui.Count(now.Failed) + " of " + ui.Count(now.Calls), Value: strconv.FormatFloat(rate(now), 'f', 1, 64), Unit: "%"}
	if now.Calls == 0 {
		failed.Value, failed.Unit = "–", ""
	}
	compare = compare && !before.Missing && before.Calls > 0
	if compare {
		calls.Delta = ui.Change(float64(now.Calls), float64(before.Calls), ui.NeitherBetter)
		if now.Calls > 0 {
			failed.Delta = ui.PointChange(rate(now), rate(before), ui.LessBetter)
		}
	}
	cells := []ui.StatCellProps{calls, failed}
	for _, l := range []struct {
		label, hint string
		of          func(traffic.Totals) int64
	}{
		{"p50", "Half of the calls are faster", func(t traffic.Totals) int64 { return t.P50.Microseconds() }},
		{"p95", "95 of 100 calls are faster", func(t traffic.Totals) int64 { return t.P95.Microseconds() }},
		{"p99", "99 of 100 calls are faster", func(t traffic.Totals) int64 { return t.P99.Microseconds() }},
	} {
		cell := ui.StatCellProps{Label: l.label, Hint: l.hint}
		cell.Value, cell.Unit = ui.TookParts(micros(l.of(now)))
		if compare && l.of(now) > 0 {
			cell.Delta = ui.Change(float64(l.of(now)), float64(l.of(before)), ui.LessBetter)
		}
		cells = append(cells, cell)
	}
	return cells
}

// chartsOf returns the charts of a period.
func chartsOf(r *traffic.Report, q *activityQuery) views.ActivityCharts {
	axis := q.times.axis()
	charts := views.ActivityCharts{
		Bars:    ui.BarsProps{ID: "calls-chart", Label: "Calls per " + axis.StepWords(), Axis: axis, Select: selection(q)},
		Latency: ui.ChartProps{ID: "latency-chart", Label: "Latency per " + axis.StepWords(), Axis: axis, Text: ui.Millis, Value: func(ms float64) string { return ui.Took(micros(int64(1000 * ms))) }},
		Heat:    ui.HeatProps{ID: "heat-chart", Label: "Calls by latency", Axis: axis, Rows: heatRows()},
	}
	if q.compare {
		charts.Bars.PreviousLabel = q.times.previousWords()
	}
	p50, p95, p99 := make([]float64, len(r.Buckets)), make([]float64, len(r.Buckets)), make([]float64, len(r.Buckets))
	for i, b := range r.Buckets {
		bar := ui.Bar{OK: b.Calls - b.Failed, Failed: b.Failed, Previous: -1, Missing: b.Missing, Partial: b.Partial}
		if q.compare && !r.Before[i].Missing {
			bar.Previous = r.Before[i].Calls
		}
		charts.Bars.Bars = append(charts.Bars.Bars, bar)
		p50[i], p95[i], p99[i] = ui.Gap(), ui.Gap(), ui.Gap()
		if b.P50 > 0 {
			p50[i], p95[i], p99[i] = float64(b.P50.Microseconds())/1000, float64(b.P95.Microseconds())/1000, float64(b.P99.Microseconds())/1000
		}
		charts.Heat.Counts = append(charts.Heat.Counts, r.Heat[i][:])
	}
	charts.Latency.Lines = []ui.Line{
		{Name: "p50", Hint: "Half of the calls are faster", Kind: ui.MainLine, Values: p50},
		{Name: "p95", Hint: "95 of 100 calls are faster", Kind: ui.InfoLine, Values: p95},
		{Name: "p99", Hint: "99 of 100 calls are faster", Kind: ui.WarnLine, Values: p99},
	}
	return charts
}

// selection returns the selected part of the chart of calls.
func selection(q *activityQuery) *ui.Selection {
	s := &ui.Selection{URL: q.address(at(times{name: q.times.name}))}
	if q.times.custom() {
		s.URL = q.address(at(times{zoom: q.times.zoom}))
	}
	if back, ok := q.times.out(); ok {
		s.BackURL = q.address(at(back))
	}
	if q.times.selected() {
		s.From, s.To = q.times.from, q.times.to
	}
	return s
}

// heatRows returns the names of the latency classes.
func heatRows() []string {
	var rows []string
	limits := traffic.HeatLimits()
	for _, limit := range limits {
		rows = append(rows, "< "+ui.Millis(float64(limit.Milliseconds())))
	}
	return append(rows, "≥ "+ui.Millis(float64(limits[len(limits)-1].Milliseconds())))
}

// breakdowns sets the most called, or most failing, tools, servers and callers of
// the listed calls.
func (a *Activity) breakdowns(ctx context.Context, p *views.ActivityProps, q *activityQuery) error {
	names := NewCallers(a.Keys, a.People)
	for _, b := range []struct {
		title, qualifier string
		by               traffic.By
		words            func(string) string
	}{
		{"Tools", "tool", traffic.ByTool, toolWords},
		{"Servers", "server", traffic.ByServer, serverWords},
		{"Callers", "caller", traffic.ByCaller, func(principal string) string { return names.Of(ctx, principal) }},
	} {
		read := a.Traffic.Top
		if q.failing {
			read = a.Traffic.Failing
		}
		rows, err := read(ctx, q.scope, q.times.listedPeriod(q.now), b.by, breakdownRows)
		if err != nil {
			return err
		}
		breakdown := views.ActivityBreakdown{
			Title: b.title, One: b.qualifier, Mono: b.by == traffic.ByTool, Tiles: b.by == traffic.ByServer, ByFailed: q.failing,
			CallsURL: q.address(func(q *activityQuery) { q.failing = false }), FailedURL: q.address(func(q *activityQuery) { q.failing = true }),
		}
		for _, row := range rows {
			shown := views.ActivityCount{Name: b.words(row.Name), Calls: row.Calls, Failed: row.Failed}
			if row.Name != "" {
				shown.URL, _ = q.only(b.qualifier, row.Name)
			}
			breakdown.Rows = append(breakdown.Rows, shown)
			breakdown.Most = max(breakdown.Most, row.Calls)
		}
		p.Breakdowns = append(p.Breakdowns, breakdown)
	}
	return nil
}

// counts returns the numbers of calls of the listed times by filter chip.
func (a *Activity) counts(ctx context.Context, q *activityQuery, project *toolset.Snapshot) (map[string]int, error) {
	counts := map[string]int{}
	for _, p := range presets() {
		clause, err := a.condition(ctx, project, &query.Clause{Qualifier: p.qualifier, Value: p.value, Folded: p.value})
		if err != nil {
			return nil, err
		}
		f := q.scope
		f.Clauses = append([]activity.CallClause{clause}, f.Clauses...)
		if counts[p.label], err = a.Traffic.Count(ctx, f, q.times.listedPeriod(q.now)); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// matches returns the number of listed calls and of those without clauses about
// results, if the query has such clauses.
func (a *Activity) matches(ctx context.Context, q *activityQuery) (*views.ActivityMatches, error) {
	if len(q.scope.Clauses) == len(q.filter.Clauses) {
		return nil, nil
	}
	p, all := q.times.listedPeriod(q.now), q.scope
	all.Clauses = q.filter.Clauses
	part, err := a.Traffic.Count(ctx, all, p)
	if err != nil {
		return nil, err
	}
	whole, err := a.Traffic.Count(ctx, q.scope, p)
	if err != nil {
		return nil, err
	}
	_, failed := q.only("outcome", "failed")
	return &views.ActivityMatches{Part: part, Whole: whole, Failed: failed && len(q.filter.Clauses) == len(q.scope.Clauses)+1}, nil
}
