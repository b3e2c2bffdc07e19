package observe

import (
	"time"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	views "mcpgateway/views/admin"
)

// rowOf returns the row of a call.
func rowOf(call models.Call, q *activityQuery, caller string) views.ActivityRow {
	at := call.At.UTC()
	return views.ActivityRow{
		At: at, Today: at.Format(time.DateOnly) == q.now.Format(time.DateOnly), Tool: toolWords(call.Tool), Caller: caller,
		Outcome: string(call.Outcome), Code: call.Code, Duration: time.Duration(call.DurationUS) * time.Microsecond, URL: q.path() + "/" + call.ID,
	}
}

// toolWords returns the name of a tool. An invalid call has none.
func toolWords(name string) string {
	if name == "" {
		return "(no tool named)"
	}
	return name
}

// serverWords returns the label of a server in the statistics.
func serverWords(server string) string {
	switch server {
	case activity.ServerBuiltin:
		return "Built-in tools"
	case activity.ServerNone:
		return "No server (unknown tool)"
	}
	return server
}

// summarise sets the totals, time series and tables of the page.
func summarise(p *views.ActivityProps, q *activityQuery, stats *activity.CallStats) {
	s := &p.Summary
	s.Latency = latencyOf(stats.Total, "")
	if stats.Sampled {
		s.Sampled = stats.Total.Calls
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for _, step := range stats.Steps {
		label := step.Name
		if at, err := time.Parse(time.RFC3339, step.Name); err == nil {
			label = at.Format(q.period.format)
		}
		s.Labels = append(s.Labels, label)
		s.Calls, s.Failed = append(s.Calls, float64(step.Calls)), append(s.Failed, float64(step.Failed))
		s.P50, s.P95, s.P99 = append(s.P50, ms(step.P50)), append(s.P95, ms(step.P95)), append(s.P99, ms(step.P99))
	}
	for _, t := range stats.Tools {
		row := latencyOf(t, toolWords(t.Name))
		if t.Name != "" {
			row.URL, _ = q.only("tool", t.Name)
		}
		p.Tools = append(p.Tools, row)
	}
	for _, t := range stats.Servers {
		row := latencyOf(t, serverWords(t.Name))
		row.URL, _ = q.only("server", t.Name)
		p.Servers = append(p.Servers, row)
	}
}

func latencyOf(l activity.Latency, name string) views.ActivityLatency {
	return views.ActivityLatency{Name: name, Calls: l.Calls, Failed: l.Failed, P50: l.P50, P95: l.P95, P99: l.P99}
}
