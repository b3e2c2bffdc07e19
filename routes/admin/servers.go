package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// latencyPeriod is over how long the typical answer of a server is looked at.
const latencyPeriod = time.Hour

// ServerStore changes servers; projects.Store says how.
type ServerStore interface {
	AddServer(ctx context.Context, slug, alias string, d *projects.ServerDeclaration) (projects.SavedServer, error)
	UpdateServer(ctx context.Context, id string, alias *string, d *projects.ServerDeclaration) (projects.SavedServer, error)
	DeleteServer(ctx context.Context, id string) error
	Draft(alias string, d *projects.ServerDeclaration) (models.Server, error)
}

// ServerReader reads what servers offer. Implemented by inventory.Syncer.
type ServerReader interface {
	HealthSource
	Sync(ctx context.Context, serverID string) (inventory.SyncResult, error)
	Try(ctx context.Context, row models.Server) (inventory.Trial, error)
}

// Servers serves the servers of projects.
type Servers struct {
	pages     *Pages
	directory ProjectDirectory
	reader    ServerReader
	calls     CallLog
	store     ServerStore
	stepUp    StepUpGate
}

// NewServers returns the handlers. stepUp decides who may send stored
// credentials to another address.
func NewServers(pages *Pages, directory ProjectDirectory, reader ServerReader, calls CallLog, store ServerStore, stepUp StepUpGate) *Servers {
	return &Servers{pages: pages, directory: directory, reader: reader, calls: calls, store: store, stepUp: stepUp}
}

// List serves GET /admin/projects/:projectSlug/servers.
func (a *Servers) List(c *fiber.Ctx) error {
	p, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	latency, err := a.latency(c.UserContext(), p, "")
	if err != nil {
		return err
	}
	query, kind := strings.TrimSpace(c.Query("query")), c.Query("state")
	props := views.ServersProps{
		Frame: a.pages.Frame(c, title(p, "Servers"), layout.SectionProjects), Now: time.Now(),
		Project: headOf(p, a.reader, layout.TabServers), Query: query, State: kind, Total: len(p.Servers),
	}
	counts := map[string]int{}
	for _, server := range p.Servers {
		row := a.row(p, server, latency)
		if !mentions(row.Alias+" "+row.URL, query) {
			continue
		}
		counts[row.State.Kind]++
		if kind == "" || kind == row.State.Kind {
			props.Rows = append(props.Rows, row)
		}
	}
	props.Chips = stateChips(serversPath(p.Project.Slug), views.States(), query, kind, counts)
	return web.Render(c, views.Servers(props))
}

func mentions(text, query string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(query))
}

// latency returns the median duration of lately answered calls, by alias.
func (a *Servers) latency(ctx context.Context, p *toolset.Snapshot, alias string) (map[string]time.Duration, error) {
	now := time.Now()
	stats, err := a.calls.Stats(ctx, activity.CallFilter{ProjectID: p.Project.ID, Server: alias, Since: now.Add(-latencyPeriod), Until: now}, 1)
	if err != nil {
		return nil, err
	}
	medians := map[string]time.Duration{}
	for _, s := range stats.Servers {
		medians[s.Name] = s.P50
	}
	return medians, nil
}

func (a *Servers) row(p *toolset.Snapshot, server *toolset.Server, latency map[string]time.Duration) views.ServerRow {
	config := server.Config
	health := a.reader.Health(config.ID)
	state, problem := stateOf(server, a.reader)
	shown, known := toolsOf(p, config.ID)
	row := views.ServerRow{
		ID: config.ID, Alias: config.Alias, URL: config.URL, OAuth: config.AuthType == models.UpstreamAuthOAuth, Enabled: config.Enabled,
		State: state, Error: problem, Tools: shown, Known: known,
	}
	if word, since, reason := health.State(); word == upstream.StateOpen || word == upstream.StateHalfOpen {
		row.Outage = &views.Outage{Since: since, NextProbe: health.Breaker.NextProbe, Reason: reason}
	}
	if d := latency[config.Alias]; d > 0 {
		row.MS = max(d.Milliseconds(), 1)
	}
	if server.Inventory != nil {
		row.SyncedAt, row.TriedAt = health.LastSync(server.Inventory.SyncedAt), &server.Inventory.AttemptedAt
	}
	return row
}

// find returns the project and the server that a request names.
func (a *Servers) find(c *fiber.Ctx) (*toolset.Snapshot, *toolset.Server, error) {
	p, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return nil, nil, err
	}
	server, err := serverOf(p, c.Params("id"))
	return p, server, err
}

// Sync serves POST …/servers/:id/sync: it reads the server's tools now.
func (a *Servers) Sync(c *fiber.Ctx) error {
	p, server, err := a.find(c)
	if err != nil {
		return err
	}
	to := serverPath(p.Project.Slug, server.Config.ID)
	result, err := a.reader.Sync(c.UserContext(), server.Config.ID)
	if err != nil {
		return Failed(c, to, err)
	}
	return Done(c, to, syncWords(result))
}

// namesShown is how many names of a list of changes a message holds.
const namesShown = 5

// syncWords says what a sync found.
func syncWords(r inventory.SyncResult) string {
	text := fmt.Sprintf("%s in %d ms.", ui.Plural(r.Total, "tool", "tools"), r.Duration.Milliseconds())
	for _, part := range []struct {
		word  string
		names []string
	}{{"Added", r.Added}, {"Changed", r.Changed}, {"Removed", r.Removed}} {
		if len(part.names) > 0 {
			text += fmt.Sprintf(" %s %d: %s.", part.word, len(part.names), firstOf(part.names))
		}
	}
	if len(r.Added)+len(r.Changed)+len(r.Removed) == 0 {
		text += " Nothing is new."
	}
	if len(r.Warnings) > 0 {
		text += " See the warnings below."
	}
	return text
}

func firstOf(names []string) string {
	shown := make([]string, 0, namesShown)
	for _, name := range names[:min(len(names), namesShown)] {
		shown = append(shown, ui.Clean(name))
	}
	text := strings.Join(shown, ", ")
	if len(names) > namesShown {
		text += " …"
	}
	return text
}

// Enable serves POST …/servers/:id/enable: enabled=true|false.
func (a *Servers) Enable(c *fiber.Ctx) error {
	p, server, err := a.find(c)
	if err != nil {
		return err
	}
	to := serversPath(p.Project.Slug)
	if posted(c, "back") == "server" {
		to = serverPath(p.Project.Slug, server.Config.ID)
	}
	enabled := posted(c, "enabled") == "true"
	if _, err := a.store.UpdateServer(c.UserContext(), server.Config.ID, nil, &projects.ServerDeclaration{Enabled: &enabled}); err != nil {
		return Failed(c, to, err)
	}
	if enabled {
		return Done(c, to, "The server "+server.Config.Alias+" is switched on. Clients see its tools again.")
	}
	return Done(c, to, "The server "+server.Config.Alias+" is switched off. Clients do not see its tools any more.")
}

// Delete serves POST …/servers/:id/delete.
func (a *Servers) Delete(c *fiber.Ctx) error {
	p, server, err := a.find(c)
	if err != nil {
		return err
	}
	if err := a.store.DeleteServer(c.UserContext(), server.Config.ID); err != nil && !fault.Is(err, fault.CodeNotFound) {
		return Failed(c, serverPath(p.Project.Slug, server.Config.ID), err)
	}
	return Done(c, serversPath(p.Project.Slug), "The server "+server.Config.Alias+" is deleted.")
}
