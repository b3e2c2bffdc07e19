// Package servers serves the servers of projects: the wizard and the catalog
// actions that add them, their pages, settings and tool filters.
package servers

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/routes/admin/observe"
	"mcpgateway/routes/frame"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/inventory/history"
	"mcpgateway/services/projects"
	"mcpgateway/services/revisions"
	"mcpgateway/services/toolset"
	shared "mcpgateway/views/admin"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Options are the dependencies of the pages. StepUp enforces the confirmation before
// stored credentials are sent to another URL.
type Options struct {
	Pages   *admin.ProjectPages
	Reader  *inventory.Syncer
	Calls   *activity.Calls
	Traffic *traffic.Store
	History *history.Store
	Store   *projects.Store
	StepUp  *guard.Guards
	Callers func() *observe.Callers // names of callers for one page
	People  People
	// Learned are the protocol revisions learned from failed calls.
	Learned    *revisions.Store
	Programs   admin.Programs
	Operations Operations
	Icons      *frame.Icons
}

// Servers serves the servers of projects.
type Servers struct {
	pages      *admin.ProjectPages
	reader     *inventory.Syncer
	calls      *activity.Calls
	store      *projects.Store
	stepUp     *guard.Guards
	traffic    *traffic.Store
	history    *history.Store
	callers    func() *observe.Callers
	persons    People
	learned    *revisions.Store
	programs   admin.Programs
	operations Operations
	icons      *frame.Icons
}

// New returns the handlers.
func New(o Options) *Servers {
	return &Servers{pages: o.Pages, reader: o.Reader, calls: o.Calls, store: o.Store, stepUp: o.StepUp, traffic: o.Traffic, history: o.History, callers: o.Callers, persons: o.People, learned: o.Learned, programs: o.Programs, operations: o.Operations, icons: o.Icons}
}

// List serves GET /admin/projects/:projectSlug/servers.
func (a *Servers) List(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	props := views.ListProps{Frame: a.pages.ProjectFrame(c, p, layout.TabServers, "Servers"), Query: strings.TrimSpace(c.Query("query")), State: c.Query("state")}
	props.Live = []string{listTopic + ":" + url.Values{"query": {props.Query}, "state": {props.State}}.Encode()}
	if err := a.fill(c.UserContext(), &props, p); err != nil {
		return err
	}
	return web.Render(c, views.List(props))
}

// fill adds the servers that match the query and the state.
func (a *Servers) fill(ctx context.Context, props *views.ListProps, p *toolset.Snapshot) error {
	props.Now, props.Slug, props.Total = time.Now(), p.Project.Slug, len(p.Servers)
	rows, err := a.rows(ctx, p, p.Servers, props.Now)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, row := range rows {
		if !admin.Mentions(row.Alias+" "+row.URL, props.Query) {
			continue
		}
		counts[row.State.Kind]++
		if props.State == "" || props.State == row.State.Kind {
			props.Rows = append(props.Rows, row)
		}
	}
	rank := map[string]int{}
	for i, state := range shared.States() {
		rank[state.Kind] = i
	}
	slices.SortStableFunc(props.Rows, func(a, b views.Row) int {
		return cmp.Or(cmp.Compare(rank[a.State.Kind], rank[b.State.Kind]), strings.Compare(a.Alias, b.Alias))
	})
	props.Chips = admin.StateChips(paths.Servers(p.Project.Slug), shared.States(), props.Query, props.State, counts)
	return nil
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
