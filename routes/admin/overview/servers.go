package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/toolset"
	adminviews "mcpgateway/views/admin"
	views "mcpgateway/views/admin/overview"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// server is a server of a project with its state.
type server struct {
	*toolset.Server
	state   adminviews.ServerState
	problem string
	since   time.Time // when the server began to fail; may be zero
}

// servers returns the servers of a project with their states.
func (o *Overview) servers(p *toolset.Snapshot) []server {
	var all []server
	for _, s := range p.Servers {
		one := server{Server: s}
		one.state, one.problem = o.Pages.Health.StateOf(s)
		if one.state.Kind == adminviews.StateDown {
			one.since = o.Pages.Health.FailingSince(s)
		}
		all = append(all, one)
	}
	return all
}

// shownFailing is the maximum number of failing servers in the heading.
const shownFailing = 2

// status returns how many servers are up.
func status(p *toolset.Snapshot, servers []server) views.Status {
	s := views.Status{Text: "No servers yet"}
	up, on := 0, 0
	for _, one := range servers {
		if !one.Config.Enabled {
			continue
		}
		on++
		s.Bar = append(s.Bar, one.state.Tone)
		switch one.state.Tone {
		case ui.OK:
			up++
		case ui.Bad:
			s.Failing = append(s.Failing, views.Link{Label: one.Config.Alias + " down", URL: paths.Server(p.Project.Slug, one.Config.ID)})
		}
	}
	if len(servers) > 0 {
		s.Text = layout.NavProject{Servers: on, Up: up}.Status()
	}
	if down := len(s.Failing); down > shownFailing {
		s.Failing = []views.Link{{Label: ui.Plural(down, "server", "servers") + " down", URL: paths.Servers(p.Project.Slug) + "?state=" + adminviews.StateDown}}
	}
	slices.SortStableFunc(s.Bar, func(a, b ui.Tone) int { return cmp.Compare(rank(a), rank(b)) })
	return s
}

// rank returns the order of tones, healthy first.
func rank(t ui.Tone) int { return slices.Index([]ui.Tone{ui.OK, ui.Neutral, ui.Warn, ui.Bad}, t) }

// topology returns the picture of the traffic.
func (v *view) topology(p *toolset.Snapshot, servers []server, now time.Time) ui.TopologyProps {
	slug := p.Project.Slug
	t := ui.TopologyProps{
		Project: cmp.Or(p.Project.Name, slug), Facts: []string{ui.Plural(len(p.Tools), "tool", "tools"), ui.Short(float64(v.numbers.report.Totals.Calls)) + " calls"},
		Clients: v.clients(slug, now), Servers: v.serverNodes(slug, servers, now), ClientsURL: activityURL(slug, v.period), ServersURL: paths.Servers(slug),
	}
	t.Label = "Traffic of the " + v.lastWords() + ": " + ui.Plural(len(t.Clients), "client", "clients") + ", " + ui.Plural(len(servers), "server", "servers")
	sep := "; "
	for _, s := range servers {
		if words := trouble(s); words != "" {
			t.Label += sep + s.Config.Alias + " " + words
			sep = ", "
		}
	}
	return t
}

// trouble returns the problem of a server in words, or "".
func trouble(s server) string {
	switch s.state.Kind {
	case adminviews.StateDown:
		return "is down"
	case adminviews.StateReconnect:
		return "needs reconnecting"
	}
	if s.state.Tone == ui.Warn {
		return "needs you"
	}
	return ""
}

// serverNodes returns the servers of the picture: those with the most calls
// first. Failing ones are last, or first if not all are shown.
func (v *view) serverNodes(slug string, servers []server, now time.Time) []ui.TopologyNode {
	rows := map[string]traffic.Row{}
	for _, row := range v.numbers.servers {
		rows[strings.ToLower(row.Name)] = row
	}
	var nodes []ui.TopologyNode
	for _, s := range servers {
		row := rows[strings.ToLower(s.Config.Alias)]
		nodes = append(nodes, ui.TopologyNode{
			Name: s.Config.Alias, URL: paths.Server(slug, s.Config.ID), Calls: row.Calls, Tone: s.state.Tone, Sub: serverFacts(s, row, now),
		})
	}
	order := 1
	if len(nodes) > ui.TopologySide {
		order = -1
	}
	slices.SortStableFunc(nodes, func(a, b ui.TopologyNode) int {
		return cmp.Or(order*cmp.Compare(rank(a.Tone), rank(b.Tone)), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return nodes
}

// serverFacts returns the text of a server in the picture.
func serverFacts(s server, row traffic.Row, now time.Time) string {
	switch s.state.Kind {
	case adminviews.StateDown:
		if s.since.IsZero() || now.Sub(s.since) < time.Minute {
			return "down"
		}
		return "down " + strings.TrimSuffix(ui.Ago(now, s.since), " ago")
	case adminviews.StateReconnect:
		return "reconnect"
	case adminviews.StateOK:
		if row.Calls == 0 {
			return "no calls"
		}
		return ui.Short(float64(row.Calls)) + " · " + ui.Took(row.P50)
	}
	return strings.ToLower(s.state.Word)
}

// clients returns the clients of the picture: those that called, and usable keys
// that did not.
func (v *view) clients(slug string, now time.Time) []ui.TopologyNode {
	var nodes []ui.TopologyNode
	called := map[string]bool{}
	for _, row := range v.numbers.callers {
		called[row.Name] = true
		nodes = append(nodes, ui.TopologyNode{
			Name: v.numbers.names[row.Name], Sub: callsWord(row.Calls), Calls: row.Calls, Tone: ui.OK, URL: v.callerURL(slug, row.Name), Icon: callerIcon(row.Name),
		})
	}
	for _, key := range v.numbers.usable() {
		if called[keyPrincipal+key.ID] {
			continue
		}
		node := ui.TopologyNode{Name: v.numbers.names[keyPrincipal+key.ID], Sub: "never used", URL: paths.Key(slug, key.ID), Icon: "key-round"}
		if key.LastUsedAt != nil {
			node.Sub = "idle " + strings.TrimSuffix(ui.Ago(now, *key.LastUsedAt), " ago")
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func callsWord(n int) string {
	if n == 1 {
		return "1 call"
	}
	return ui.Short(float64(n)) + " calls"
}

func (v *view) callerURL(slug, principal string) string {
	if id, ok := strings.CutPrefix(principal, keyPrincipal); ok {
		return paths.Key(slug, id)
	}
	return activityURL(slug, v.period, clause{"caller", principal})
}

func callerIcon(principal string) string {
	switch {
	case strings.HasPrefix(principal, keyPrincipal):
		return "key-round"
	case strings.HasPrefix(principal, userPrincipal):
		return "user"
	}
	return "globe"
}
