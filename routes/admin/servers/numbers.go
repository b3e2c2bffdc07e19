package servers

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
	shared "mcpgateway/views/admin"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

const (
	recentCalls = 5
	lastErrors  = 5
	errorRows   = 50 // causes and tools from which the last errors are grouped
)

// serverProps returns what changes on the page of a server while it is open.
func (a *Servers) serverProps(ctx context.Context, p *toolset.Snapshot, server *toolset.Server) (views.ServerProps, error) {
	now := time.Now()
	filter := traffic.Filter{ProjectID: p.Project.ID, Server: server.Config.Alias}
	period, _ := traffic.Last("24h", now)
	report, err := a.traffic.Report(ctx, filter, period, true)
	if err != nil {
		return views.ServerProps{}, err
	}
	observed, err := a.history.Servers(ctx, []string{server.Config.ID}, now.Add(-historyPeriod))
	if err != nil {
		return views.ServerProps{}, err
	}
	states := observed[server.Config.ID]
	row := a.row(p, server, states, now)
	row.Availability = availability(states, report.Buckets, now, shown)
	markSlow(&row, recentOf(report.Buckets), traffic.Row{Calls: report.Totals.Calls, P50: usualLatency(report.Buckets)})
	props := views.ServerProps{Head: views.Head{Slug: p.Project.Slug, Row: row, Now: now}, Outage: a.outage(server), Numbers: numbersOf(report)}
	props.Process = a.processOf(ctx, server, row)
	if props.Log, err = a.log(ctx, p, server, states, filter, period); err != nil {
		return views.ServerProps{}, err
	}
	props.Log.Failed = report.Totals.Failed
	return props, nil
}

// recentOf returns the calls of the last finished step, or of the present one.
func recentOf(buckets []traffic.Bucket) traffic.Row {
	for i := len(buckets) - 1; i >= max(0, len(buckets)-2); i-- {
		if buckets[i].Calls > 0 {
			return traffic.Row{Calls: buckets[i].Calls, P50: buckets[i].P50}
		}
	}
	return traffic.Row{}
}

// outage describes the failures of a server so far.
func (a *Servers) outage(server *toolset.Server) views.Outage {
	health := a.reader.Health(server.Config.ID)
	state, _, _ := health.State()
	return views.Outage{
		Tries: health.ConsecutiveFailures, NextTry: health.NextTry(),
		Paused: state == upstream.StateOpen || state == upstream.StateHalfOpen,
	}
}

func numbersOf(r *traffic.Report) views.Numbers {
	n := views.Numbers{
		Calls: r.Totals.Calls, Failed: r.Totals.Failed, P50: r.Totals.P50,
		CallsBefore: r.Previous.Calls, FailedBefore: r.Previous.Failed, P50Before: r.Previous.P50, Compare: !r.Previous.Missing && r.Previous.Calls > 0,
	}
	for _, b := range r.Buckets {
		latency := ui.Gap() // without calls
		if b.P50 > 0 {
			latency = float64(b.P50.Microseconds()) / 1000
		}
		n.Latencies = append(n.Latencies, latency)
		n.Counts, n.Fails = append(n.Counts, float64(b.Calls)), append(n.Fails, float64(b.Failed))
	}
	return n
}

// log returns the last errors and calls of a server.
func (a *Servers) log(ctx context.Context, p *toolset.Snapshot, server *toolset.Server, states []models.ServerState, filter traffic.Filter, period traffic.Period) (views.Log, error) {
	errors, err := a.traffic.Errors(ctx, filter, period, errorRows)
	if err != nil {
		return views.Log{}, err
	}
	calls, _, err := a.calls.List(ctx, activity.CallFilter{ProjectID: p.Project.ID, Server: server.Config.Alias}, "", recentCalls)
	if err != nil {
		return views.Log{}, err
	}
	log, names := views.Log{Errors: errorGroups(p, server, errors, states)}, a.callers()
	for _, call := range calls {
		log.Calls = append(log.Calls, views.Call{
			At: call.At, Tool: strings.TrimPrefix(call.Tool, server.Config.Alias+"__"), Caller: names.Of(ctx, call.Principal), Outcome: shared.OutcomeOf(string(call.Outcome), call.Code),
			Took: time.Duration(call.DurationUS) * time.Microsecond, URL: paths.Activity(p.Project.Slug) + "/" + call.ID,
		})
	}
	return log, nil
}

// errorGroups groups failed calls and outages by cause, newest first.
func errorGroups(p *toolset.Snapshot, server *toolset.Server, errors []traffic.ErrorRow, states []models.ServerState) []views.ErrorGroup {
	groups := map[string]*views.ErrorGroup{}
	add := func(title string, calls int, tool string, first, last time.Time) {
		g := groups[title]
		if g == nil {
			g = &views.ErrorGroup{Title: title, Tool: tool, First: first, Last: last}
			groups[title] = g
		}
		if g.Calls += calls; calls > 0 {
			g.URL = paths.Activity(p.Project.Slug) + "?query=server%3A" + server.Config.Alias + "+outcome%3Afailed"
		}
		if tool != "" && g.Tool != tool {
			g.Tool = ""
		}
		if first.Before(g.First) {
			g.First = first
		}
		if last.After(g.Last) {
			g.Last = last
		}
	}
	for _, e := range errors {
		add(callTitle(server, e, states), e.Calls, e.Tool, e.First, e.Last)
	}
	for _, s := range states {
		if s.State == models.ServerDown {
			add(causeTitle(server, s.Cause), 0, "", s.At, s.At)
		}
	}
	var all []views.ErrorGroup
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b views.ErrorGroup) int {
		return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.Title, b.Title))
	})
	return all[:min(len(all), lastErrors)]
}

// causeTitle returns a stored cause in words.
func causeTitle(server *toolset.Server, cause string) string {
	return shared.FailureOf(shared.FailedServer{
		Reason: cause, URL: server.Config.URL, OAuth: server.Config.AuthType == models.UpstreamAuthOAuth, HasCredentials: true,
	}).Title
}

// callTitle returns the cause of failed calls in words: the one that was observed
// until then, or that of their error code.
func callTitle(server *toolset.Server, e traffic.ErrorRow, states []models.ServerState) string {
	switch fault.Code(e.Code) {
	case "":
		return "Error from the tool"
	case fault.CodeUpstreamError:
		return "Error from the server"
	case fault.CodeUpstreamInvalidResponse:
		return "Invalid response"
	case fault.CodeUpstreamTimeout:
		return "Timed out after " + ui.Seconds(server.Config.TimeoutMS) + " s"
	}
	for i := len(states) - 1; i >= 0; i-- {
		if s := states[i]; s.State == models.ServerDown && !s.At.After(e.Last.Add(time.Second)) {
			return causeTitle(server, s.Cause)
		}
	}
	switch fault.Code(e.Code) {
	case fault.CodeUpstreamUnavailable:
		return "Server unreachable"
	case fault.CodeUpstreamUnauthorized:
		return "Credentials rejected"
	}
	return e.Code
}
