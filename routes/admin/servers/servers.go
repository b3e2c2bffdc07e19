// Package servers serves the servers of projects: the wizard and the catalog
// actions that add them, their pages, settings and tool filters.
package servers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// latencyPeriod is the time range of the median latency.
const latencyPeriod = "1h"

// Servers serves the servers of projects.
type Servers struct {
	pages   *admin.ProjectPages
	reader  *inventory.Syncer
	traffic *traffic.Store
	store   *projects.Store
	stepUp  *guard.Guards
}

// New returns the handlers. stepUp enforces the confirmation before stored
// credentials are sent to another URL.
func New(pages *admin.ProjectPages, reader *inventory.Syncer, numbers *traffic.Store, store *projects.Store, stepUp *guard.Guards) *Servers {
	return &Servers{pages: pages, reader: reader, traffic: numbers, store: store, stepUp: stepUp}
}

// List serves GET /admin/projects/:projectSlug/servers.
func (a *Servers) List(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	latency, err := a.latency(c.UserContext(), p, "")
	if err != nil {
		return err
	}
	props := views.ServersProps{
		Frame: a.pages.ProjectFrame(c, p, layout.TabServers, "Servers"), Now: time.Now(),
		Project: a.pages.Head(p, layout.TabServers), Query: strings.TrimSpace(c.Query("query")), State: c.Query("state"), Total: len(p.Servers),
	}
	a.fill(&props, p, latency)
	return web.Render(c, views.Servers(props))
}

// fill adds the servers that match the query and the state.
func (a *Servers) fill(props *views.ServersProps, p *toolset.Snapshot, latency map[string]time.Duration) {
	counts := map[string]int{}
	for _, server := range p.Servers {
		row := a.row(p, server, latency)
		if !admin.Mentions(row.Alias+" "+row.URL, props.Query) {
			continue
		}
		counts[row.State.Kind]++
		if props.State == "" || props.State == row.State.Kind {
			props.Rows = append(props.Rows, row)
		}
	}
	props.Chips = admin.StateChips(paths.Servers(p.Project.Slug), views.States(), props.Query, props.State, counts)
}

// latency returns the median duration of recent calls, by alias.
func (a *Servers) latency(ctx context.Context, p *toolset.Snapshot, alias string) (map[string]time.Duration, error) {
	period, _ := traffic.Last(latencyPeriod, time.Now())
	rows, err := a.traffic.Top(ctx, traffic.Filter{ProjectID: p.Project.ID, Server: alias}, period, traffic.ByServer, traffic.MaxRows)
	if err != nil {
		return nil, err
	}
	medians := map[string]time.Duration{}
	for _, row := range rows {
		medians[row.Name] = row.P50
	}
	return medians, nil
}

func (a *Servers) row(p *toolset.Snapshot, server *toolset.Server, latency map[string]time.Duration) views.ServerRow {
	config := server.Config
	health := a.reader.Health(config.ID)
	state, problem := a.pages.Health.StateOf(server)
	shown, known := admin.CountTools(p, config.ID)
	row := views.ServerRow{
		ID: config.ID, Alias: config.Alias, URL: config.URL, OAuth: config.AuthType == models.UpstreamAuthOAuth, Enabled: config.Enabled,
		State: state, Error: problem, Tools: shown, Known: known,
	}
	if word, since, reason := health.State(); word == upstream.StateOpen || word == upstream.StateHalfOpen {
		row.Outage = &views.Outage{Since: since, NextProbe: health.Breaker.NextProbe, Reason: reason}
	}
	if d := latency[strings.ToLower(config.Alias)]; d > 0 {
		row.MS = max(d.Milliseconds(), 1)
	}
	if server.Inventory != nil {
		row.SyncedAt, row.TriedAt = health.LastSync(server.Inventory.SyncedAt), &server.Inventory.AttemptedAt
	}
	return row
}

// Sync serves POST …/servers/:id/sync. It syncs the server's tools.
func (a *Servers) Sync(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	to := paths.Server(p.Project.Slug, server.Config.ID)
	result, err := a.reader.Sync(c.UserContext(), server.Config.ID)
	if err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, syncWords(result))
}

// syncWords describes the result of a sync.
func syncWords(r inventory.SyncResult) string {
	text := fmt.Sprintf("%s in %d ms.", ui.Plural(r.Total, "tool", "tools"), r.Duration.Milliseconds())
	for _, part := range []struct {
		word  string
		names []string
	}{{"Added", r.Added}, {"Changed", r.Changed}, {"Removed", r.Removed}} {
		if len(part.names) > 0 {
			text += fmt.Sprintf(" %s %d: %s.", part.word, len(part.names), ui.FirstOf(part.names))
		}
	}
	if len(r.Added)+len(r.Changed)+len(r.Removed) == 0 {
		text += " Nothing changed."
	}
	if len(r.Warnings) > 0 {
		text += " See the warnings below."
	}
	return text
}

// Enable serves POST …/servers/:id/enable: enabled=true|false.
func (a *Servers) Enable(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	to := paths.Servers(p.Project.Slug)
	if web.FormValue(c, "back") == "server" {
		to = paths.Server(p.Project.Slug, server.Config.ID)
	}
	enabled := web.FormValue(c, "enabled") == "true"
	if _, err := a.store.UpdateServer(c.UserContext(), server.Config.ID, nil, &declaration.Server{Enabled: &enabled}); err != nil {
		return frame.Failed(c, to, err)
	}
	if enabled {
		return frame.Done(c, to, server.Config.Alias+" turned on. Clients see its tools again.")
	}
	return frame.Done(c, to, server.Config.Alias+" turned off. Clients no longer see its tools.")
}

// Delete serves POST …/servers/:id/delete.
func (a *Servers) Delete(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	if err := a.store.DeleteServer(c.UserContext(), server.Config.ID); err != nil && !fault.Is(err, fault.CodeNotFound) {
		return frame.Failed(c, paths.Server(p.Project.Slug, server.Config.ID), err)
	}
	return frame.Done(c, paths.Servers(p.Project.Slug), "Server "+server.Config.Alias+" deleted.")
}
