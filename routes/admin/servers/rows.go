package servers

import (
	"context"
	"slices"
	"time"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/inventory/history"
	"mcpgateway/services/toolset"
	shared "mcpgateway/views/admin"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/ui"
)

const (
	listed        = 30             // parts of the availability in the list
	shown         = 90             // on the page of a server
	historyPeriod = 24 * time.Hour // of the availability
	recentPeriod  = "1h"           // whose median latency shows a slow server
	usualPeriod   = "24h"          // with which it is compared
	slowFactor    = 4              // times the usual median latency
	slowCalls     = 5              // minimum number of recent calls of a slow server
)

// rows returns the rows of servers with their states and availabilities.
func (a *Servers) rows(ctx context.Context, p *toolset.Snapshot, servers []*toolset.Server, now time.Time) ([]views.Row, error) {
	ids := make([]string, len(servers))
	for i, server := range servers {
		ids[i] = server.Config.ID
	}
	observed, err := a.history.Servers(ctx, ids, now.Add(-historyPeriod))
	if err != nil {
		return nil, err
	}
	usual, recent, err := a.latencies(ctx, p, now)
	if err != nil {
		return nil, err
	}
	rows := make([]views.Row, len(servers))
	for i, server := range servers {
		rows[i] = a.row(p, server, observed[server.Config.ID], now)
		rows[i].Availability = availability(observed[server.Config.ID], nil, now, listed)
		alias := server.Config.Alias
		markSlow(&rows[i], recent[alias], usual[alias])
	}
	return rows, nil
}

// latencies returns the calls of the servers of a project by alias: the usual ones
// and the recent ones.
func (a *Servers) latencies(ctx context.Context, p *toolset.Snapshot, now time.Time) (usual, recent map[string]traffic.Row, err error) {
	both := [2]map[string]traffic.Row{}
	for i, name := range []string{usualPeriod, recentPeriod} {
		period, _ := traffic.Last(name, now)
		top, err := a.traffic.Top(ctx, traffic.Filter{ProjectID: p.Project.ID}, period, traffic.ByServer, traffic.MaxRows)
		if err != nil {
			return nil, nil, err
		}
		both[i] = map[string]traffic.Row{}
		for _, row := range top {
			both[i][row.Name] = row
		}
	}
	return both[0], both[1], nil
}

// markSlow adds the median latency of a server, and its state if it is slow.
func markSlow(row *views.Row, recent, usual traffic.Row) {
	median := recent.P50
	if median == 0 {
		median = usual.P50
	}
	if median > 0 {
		row.MS = max(median.Milliseconds(), 1)
	}
	if row.State.Kind == shared.StateOK && isSlow(recent.P50, usual.P50, recent.Calls) {
		row.State = shared.StateOf(shared.StateSlow)
	}
}

func isSlow(median, usual time.Duration, calls int) bool {
	return calls >= slowCalls && usual > 0 && median >= slowFactor*usual
}

// row returns the row of a server without its availability.
func (a *Servers) row(p *toolset.Snapshot, server *toolset.Server, observed []models.ServerState, now time.Time) views.Row {
	config := server.Config
	state, _ := a.pages.Health.StateOf(server)
	tools, known := admin.CountTools(p, config.ID)
	row := views.Row{
		ID: config.ID, Alias: config.Alias, URL: config.URL, Icon: a.icons.OfServer(config.Alias, config.URL), Place: placeOf(&config), OAuth: config.AuthType == models.UpstreamAuthOAuth, Personal: config.IsPersonal(), Enabled: config.Enabled,
		State: state, Failure: a.pages.Health.FailureOf(server), Tools: tools, Known: known,
	}
	health := a.reader.Health(config.ID)
	if row.Failure != nil {
		row.Since = history.DownSince(observed)
		if row.Since.IsZero() && health.ConsecutiveFailures > 0 {
			row.Since = health.Turned
		}
	}
	if server.Inventory != nil {
		row.SyncedAt, row.TriedAt = health.LastSync(server.Inventory.SyncedAt), &server.Inventory.AttemptedAt
	}
	return row
}

// availability returns the availability of a server in n parts. Parts in which it was
// slower than usual are marked; calls are its calls, and may be nil.
func availability(observed []models.ServerState, calls []traffic.Bucket, now time.Time, n int) views.Availability {
	parts := history.Parts(observed, now.Add(-historyPeriod), now, n)
	share, known := history.Availability(parts)
	all := views.Availability{Known: known, Share: share}
	usual := usualLatency(calls)
	for _, part := range parts {
		all.Parts = append(all.Parts, toneOf(part, slowIn(calls, part.Start, usual)))
	}
	return all
}

// toneOf returns the tone of a part: bad if the server was down most of the time.
func toneOf(part history.Part, slow bool) ui.Tone {
	switch {
	case part.Up+part.Down == 0:
		return ui.Neutral
	case part.Down >= part.Up:
		return ui.Bad
	case part.Down > 0 || slow:
		return ui.Warn
	}
	return ui.OK
}

// usualLatency returns the median of the medians of the steps, or 0 without calls.
func usualLatency(calls []traffic.Bucket) time.Duration {
	var medians []time.Duration
	for _, b := range calls {
		if b.P50 > 0 {
			medians = append(medians, b.P50)
		}
	}
	if len(medians) == 0 {
		return 0
	}
	slices.Sort(medians)
	return medians[len(medians)/2]
}

// slowIn reports whether the server was slow in the step at a time.
func slowIn(calls []traffic.Bucket, at time.Time, usual time.Duration) bool {
	for i := len(calls) - 1; i >= 0; i-- {
		if !calls[i].Start.After(at) {
			return isSlow(calls[i].P50, usual, calls[i].Calls)
		}
	}
	return false
}
