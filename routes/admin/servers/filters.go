package servers

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/declaration"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// toolsListed is the maximum number of tools on the filter page.
const toolsListed = 100

// Filters serves GET …/servers/:id/filters. ?allow= and ?deny= preview other
// patterns.
func (a *Servers) Filters(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	props := views.FiltersProps{Allow: server.Config.AllowedTools, Deny: server.Config.DenyTools, New: c.Query("new") != ""}
	if args := c.Request().URI().QueryArgs(); args.Has("allow") || args.Has("deny") {
		props.Allow, props.Deny = lines(c.Query("allow")), lines(c.Query("deny"))
		props.Seen = c.Query(frame.FingerprintField) // a preview retains the fingerprint of the stored patterns
	}
	return a.filterPage(c, p, server, props)
}

// lines returns the non-empty lines of a text.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func (a *Servers) filterPage(c *fiber.Ctx, p *toolset.Snapshot, server *toolset.Server, props views.FiltersProps) error {
	props.Frame = a.pages.ProjectFrame(c, p, layout.TabServers, server.Config.Alias+": tools", serverCrumbs(p, server, "Tools")...)
	props.Head = a.head(p, server)
	props.Changed = !slices.Equal(props.Allow, server.Config.AllowedTools) || !slices.Equal(props.Deny, server.Config.DenyTools)
	if props.Seen == "" {
		props.Seen = frame.Fingerprint(filtersOf(server))
	}
	addFiltered(&props, p, server)
	return web.Render(c, views.Filters(props))
}

// addFiltered adds the tools of a server, and whether the patterns turn them on.
func addFiltered(props *views.FiltersProps, p *toolset.Snapshot, server *toolset.Server) {
	filter := toolset.NewFilter(props.Allow, props.Deny)
	for _, t := range p.AllTools() {
		if t.Server != server {
			continue
		}
		shown := filter.Allows(t.Upstream)
		props.Known++
		if shown {
			props.Shown++
		}
		if len(props.Tools) < toolsListed {
			props.Tools = append(props.Tools, views.FilteredTool{Name: t.Upstream, Title: describe(t), Shown: shown, Task: t.Tasks == toolset.TasksRequired})
		}
	}
	props.Unlisted = props.Known - len(props.Tools)
	props.LeadsToSelection = props.Unlisted == 0
}

// filters are the patterns of a server, for messages.
type filters struct{ Allow, Deny string }

func filtersOf(server *toolset.Server) filters {
	return filters{strings.Join(server.Config.AllowedTools, ", "), strings.Join(server.Config.DenyTools, ", ")}
}

// describe returns the description of a tool, or "".
func describe(t *toolset.Tool) string {
	o, err := rawjson.ParseObject(t.Definition, rawjson.Lenient)
	if err != nil {
		return ""
	}
	text, _ := o.String("description")
	return text
}

// SaveFilters serves POST …/servers/:id/filters.
func (a *Servers) SaveFilters(c *fiber.Ctx) error {
	return a.saveFilters(c, lines(web.FormValue(c, "allow")), lines(web.FormValue(c, "deny")))
}

// Choose serves POST …/servers/:id/choose. It converts the individually chosen
// tools to patterns. later=hide turns off tools that the server adds later.
func (a *Servers) Choose(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	allow, deny := patternsOf(p, server, frame.PostedAll(c, "tool"), web.FormValue(c, "later") != "hide")
	return a.saveFilters(c, allow, deny)
}

// patternsOf returns the patterns that turn on the chosen tools of a server, and
// tools added later if later is set.
func patternsOf(p *toolset.Snapshot, server *toolset.Server, chosen []string, later bool) (allow, deny []string) {
	for _, t := range p.AllTools() {
		switch {
		case t.Server != server:
		case slices.Contains(chosen, t.Upstream):
			allow = append(allow, t.Upstream)
		default:
			deny = append(deny, t.Upstream)
		}
	}
	switch {
	case later:
		return nil, deny
	case len(allow) > 0:
		return allow, nil
	}
	return nil, []string{"*"}
}

func (a *Servers) saveFilters(c *fiber.Ctx, allow, deny []string) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	stored := filtersOf(server)
	err = frame.CheckUnchanged(c, stored, frame.NewEntry("Turn on", stored.Allow, strings.Join(allow, ", ")), frame.NewEntry("Turn off", stored.Deny, strings.Join(deny, ", ")))
	if err == nil {
		_, err = a.store.UpdateServer(c.UserContext(), server.Config.ID, nil, &declaration.Server{AllowedTools: &allow, DenyTools: &deny})
	}
	if err != nil {
		fields, err := frame.Fields(c, err)
		if err != nil {
			return err
		}
		return a.filterPage(c, p, server, views.FiltersProps{Allow: allow, Deny: deny, New: web.FormValue(c, "new") != "", Errors: fields})
	}
	return frame.Done(c, paths.Server(p.Project.Slug, server.Config.ID), "Tool choice saved.")
}
