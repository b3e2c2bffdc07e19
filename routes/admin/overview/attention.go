package overview

import (
	"cmp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mcpgateway/routes/admin"
	"mcpgateway/services/toolset"
	adminviews "mcpgateway/views/admin"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// expirySoon is the remaining time from which the expiry of a key needs
// attention.
const expirySoon = 7 * 24 * time.Hour

// attention returns what needs a user, the worst first.
func (o *Overview) attention(p *toolset.Snapshot, v *view, servers []server, now time.Time) ui.AttentionProps {
	a := ui.AttentionProps{ID: "needs-attention", Empty: "All good. Nothing needs you.", CSRF: v.csrf}
	down := map[string]bool{}
	for _, s := range servers {
		down[s.Config.Alias] = s.state.Kind == adminviews.StateDown
		if down[s.Config.Alias] {
			a.Rows = append(a.Rows, downRow(p.Project.Slug, s, now))
		}
	}
	for _, s := range servers {
		if row, ok := accessRow(p.Project.Slug, s); ok {
			a.Rows = append(a.Rows, row)
		}
	}
	for _, f := range v.numbers.failing {
		if alias, _, _ := strings.Cut(f.Name, "__"); !down[alias] {
			a.Rows = append(a.Rows, failingRow(p.Project.Slug, f))
		}
	}
	a.Rows = append(a.Rows, approvalRows(p)...)
	a.Rows = append(a.Rows, v.changedRows(p, now)...)
	a.Rows = append(a.Rows, v.expiryRows(p.Project.Slug, now)...)
	if !v.admin {
		a.CSRF = ""
		for i := range a.Rows {
			a.Rows[i].Fix = ""
		}
	}
	return a
}

func downRow(slug string, s server, now time.Time) ui.AttentionRow {
	page := paths.Server(slug, s.Config.ID)
	text := shortProblem(s.problem)
	if !s.since.IsZero() && now.Sub(s.since) >= time.Minute {
		text += " · " + ui.Ago(now, s.since)
	}
	return ui.AttentionRow{Tile: ui.Tile(s.Config.Alias), Title: s.Config.Alias + " is down", URL: page, Text: strings.TrimPrefix(text, " · "), Fix: "Retry", FixTo: page + "/sync", Post: true}
}

// shortProblem returns the cause in the last error of a server.
func shortProblem(problem string) string {
	if _, cause, found := strings.Cut(problem, ": "); found {
		problem = cause
	} else if strings.HasPrefix(problem, `Upstream "`) {
		if _, rest, found := strings.Cut(problem[len(`Upstream "`):], `" `); found {
			problem = rest
		}
	}
	problem, _, _ = strings.Cut(problem, ". ")
	problem = strings.TrimSuffix(problem, ".")
	first, size := utf8.DecodeRuneInString(problem)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + problem[size:]
}

// accessRow returns the row of a server that lacks access. ok is false if it has
// access.
func accessRow(slug string, s server) (row ui.AttentionRow, ok bool) {
	alias := s.Config.Alias
	row = ui.AttentionRow{Tile: ui.Tile(alias), URL: paths.Server(slug, s.Config.ID)}
	switch s.state.Kind {
	case adminviews.StateReconnect:
		row.Title, row.Text = alias+" needs to be reconnected", "Sign in again to restore access."
		row.Fix, row.FixTo = "Reconnect", admin.ConnectURL(&s.Config)
	case adminviews.StateUnconnected:
		row.Title, row.Text = alias+" isn't connected", "Sign in so that we can read its tools."
		row.Fix, row.FixTo = "Connect", admin.ConnectURL(&s.Config)
	case adminviews.StateNoToken:
		row.Title, row.Text = alias+" needs a token", "Add the token this server needs."
		row.Fix, row.FixTo = "Add token", paths.ServerEdit(slug, s.Config.ID)
	case adminviews.StateRefused:
		row.Title, row.Text = alias+" rejects its token", "Check that the token is complete and hasn't expired."
		row.Fix, row.FixTo = "Update token", paths.ServerEdit(slug, s.Config.ID)
	default:
		return row, false
	}
	return row, true
}

// failingRow returns the row of a tool whose calls fail. It links to them.
func failingRow(slug string, f failure) ui.AttentionRow {
	alias, _, _ := strings.Cut(f.Name, "__")
	calls := activityURL(slug, "1h", clause{"tool", f.Name}, clause{"outcome", "failed"})
	return ui.AttentionRow{
		Tile: ui.Tile(alias), Title: f.Name + " fails", URL: calls, Fix: "See calls", FixTo: calls,
		Text: ui.Count(f.Failed) + " of " + ui.Plural(f.Calls, "call", "calls") + " failed in the last hour · " + cmp.Or(f.code, "tool error"),
	}
}

// approvalRows returns a row for each server with tools to approve.
func approvalRows(p *toolset.Snapshot) []ui.AttentionRow {
	counts := map[string]int{}
	for _, t := range p.AllTools() {
		if t.Hidden == toolset.HiddenByApproval {
			counts[t.Server.Config.Alias]++
		}
	}
	var rows []ui.AttentionRow
	for _, s := range p.Servers {
		if n := counts[s.Config.Alias]; n > 0 {
			review := paths.ToolReview(p.Project.Slug)
			rows = append(rows, ui.AttentionRow{
				Tile: ui.Tile(s.Config.Alias), Title: ui.Plural(n, s.Config.Alias+" tool", s.Config.Alias+" tools") + " to approve", URL: review,
				Text: "Clients can't see them yet", Fix: "Review", FixTo: review,
			})
		}
	}
	return rows
}

// changedRows returns a row for each toolset whose tools a sync changed
// (TOOLSET_CHANGED).
func (v *view) changedRows(p *toolset.Snapshot, now time.Time) []ui.AttentionRow {
	var rows []ui.AttentionRow
	for _, t := range p.ToolsetsBySlug() {
		if m, ok := v.numbers.moved[t.ID]; ok && m.At.After(t.UpdatedAt) {
			page := paths.Toolset(p.Project.Slug, t.ID)
			rows = append(rows, ui.AttentionRow{
				Tile: ui.IconTile("list-checks"), Title: "Toolset “" + cmp.Or(t.Name, t.Slug) + "” changed", URL: page, Fix: "Review", FixTo: page,
				Text: ui.Plural(m.In, "tool", "tools") + " joined, " + ui.Count(m.Out) + " left · sync of " + m.Server + " · " + ui.Ago(now, m.At),
			})
		}
	}
	return rows
}

// expiryRows returns a row for each key that expires soon.
func (v *view) expiryRows(slug string, now time.Time) []ui.AttentionRow {
	calls := map[string]int{}
	for _, row := range v.numbers.callers {
		calls[row.Name] = row.Calls
	}
	var rows []ui.AttentionRow
	for _, key := range v.numbers.usable() {
		if key.ExpiresAt == nil || key.ExpiresAt.Sub(now) > expirySoon || !key.ExpiresAt.After(now) {
			continue
		}
		page := paths.Key(slug, key.ID)
		rows = append(rows, ui.AttentionRow{
			Tile: ui.IconTile("key-round"), Title: "“" + v.numbers.names[keyPrincipal+key.ID] + "” expires " + ui.Remaining(now, *key.ExpiresAt), URL: page,
			Text: ui.Plural(calls[keyPrincipal+key.ID], "call", "calls") + " in the " + v.lastWords(), Fix: "Rotate", FixTo: page,
		})
	}
	return rows
}
