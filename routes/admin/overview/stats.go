package overview

import (
	"strings"

	"github.com/a-h/templ"

	"mcpgateway/models"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/overview"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
)

// stats returns the numbers of the period. There are none before a client has
// called.
func (v *view) stats(p *toolset.Snapshot, called bool) views.Numbers {
	if !called {
		return views.Numbers{}
	}
	slug, r := p.Project.Slug, v.numbers.report
	now, before := r.Totals, r.Previous
	p95, unit := ui.TookParts(now.P95)
	failed := ui.StatCellProps{
		Label: "Failed", Value: strings.TrimSuffix(ui.Percent(now.Failed, now.Calls), "%"), Unit: "%", URL: activityURL(slug, v.period, clause{"outcome", "failed"}),
		Spark: v.spark("Failed calls", ui.BadLine, func(b traffic.Bucket) float64 { return float64(b.Failed) }),
	}
	if now.Calls > 0 && before.Calls > 0 {
		failed.Delta = ui.PointChange(share(now), share(before), ui.LessBetter)
	}
	return views.Numbers{Cells: []ui.StatCellProps{
		{
			Label: "Calls", Value: ui.Count(now.Calls), Delta: ui.Change(float64(now.Calls), float64(before.Calls), ui.NeitherBetter), URL: activityURL(slug, v.period),
			Spark: v.spark("Calls", ui.MainLine, func(b traffic.Bucket) float64 { return float64(b.Calls) }),
		},
		failed,
		{
			Label: "p95 latency", Hint: "95 of 100 calls are faster", Value: p95, Unit: unit, Delta: ui.Change(now.P95.Seconds(), before.P95.Seconds(), ui.LessBetter), URL: activityURL(slug, v.period),
			Spark: v.spark("95th percentile of latency", ui.InfoLine, func(b traffic.Bucket) float64 {
				if b.P95 == 0 {
					return ui.Gap()
				}
				return b.P95.Seconds()
			}),
		},
		{
			Label: "Active clients", Value: ui.Count(now.Callers), Unit: v.ofKeys(p), Delta: ui.CountChange(now.Callers, before.Callers), URL: layout.TabConnect.URL(slug),
			Spark: v.spark("Active clients", ui.MainLine, func(b traffic.Bucket) float64 { return float64(b.Callers) }),
		},
	}}
}

// share returns the percentage of failed calls.
func share(t traffic.Totals) float64 { return 100 * float64(t.Failed) / float64(max(1, t.Calls)) }

// ofKeys returns the number of clients that could be active, if keys limit it.
func (v *view) ofKeys(p *toolset.Snapshot) string {
	if n := len(v.numbers.usable()); p.Project.AuthMode == models.AuthAPIKey && n >= v.numbers.report.Totals.Callers {
		return "of " + ui.Count(n)
	}
	return ""
}

// spark returns the line of a number, above the dashed one of the period before.
func (v *view) spark(label string, kind ui.ChartKind, value func(traffic.Bucket) float64) templ.Component {
	return ui.Spark(ui.SparkProps{
		Label: label + ", " + v.lastWords() + " and the period before", Kind: kind,
		Values: values(v.numbers.report.Buckets, value), Previous: values(v.numbers.report.Before, value),
	})
}

// values returns the values of buckets, with gaps where no calls are stored.
func values(buckets []traffic.Bucket, value func(traffic.Bucket) float64) []float64 {
	list := make([]float64, len(buckets))
	for i, b := range buckets {
		list[i] = value(b)
		if b.Missing {
			list[i] = ui.Gap()
		}
	}
	return list
}
