package projects

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/grants"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/access"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// maxSeen is the number of tools on the page.
const maxSeen = 500

// SeeAs serves GET …/access/grants/:id: the project's tools as the person or the
// group of a grant sees them, and with ?task= what the search finds for them.
func (a *Access) SeeAs(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	grant, err := a.Grants.Get(c.UserContext(), p.Project.ID, c.Params("id"))
	if err != nil {
		return err
	}
	held, err := a.held(c.UserContext(), &p.Project, grant)
	if err != nil {
		return err
	}
	name := cmp.Or(grant.Name, grant.Email)
	props := views.SeeAsProps{
		Frame: a.Pages.ProjectFrame(c, p, layout.TabAccess, "See as", layout.Crumb{Label: "Access", URL: paths.Access(p.Project.Slug)}, layout.Crumb{Label: "See as " + ui.Clean(name)}),
		URL:   paths.SeeAs(p.Project.Slug, grant.ID), Back: paths.Access(p.Project.Slug), BackLabel: "Back to access", Name: name,
	}
	if held.None() {
		return a.seen(c, props, nil) // a disabled person
	}
	return a.seen(c, props, a.Views.Held(p, held))
}

// SeeAsKey serves GET …/keys/:id/see-as: the project's tools as clients with the
// key see them, and with ?task= what the search finds for them.
func (a *Access) SeeAsKey(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	key, err := a.Keys.Get(c.UserContext(), c.Params("id"))
	if err == nil && key.ProjectID != p.Project.ID {
		err = fault.NotFound("key", key.ID)
	}
	if err != nil {
		return err
	}
	name, page := cmp.Or(key.Name, key.Prefix+"…"), paths.Key(p.Project.Slug, key.ID)
	return a.seen(c, views.SeeAsProps{
		Frame: a.Pages.ProjectFrame(c, p, layout.TabKeys, "See as", layout.Crumb{Label: ui.Clean(name), URL: page}, layout.Crumb{Label: "See as"}),
		URL:   paths.SeeAsKey(p.Project.Slug, key.ID), Back: page, BackLabel: "Back to key", Name: name,
	}, a.Views.Key(p, key.ID))
}

// seen renders the page with the tools of a view, or without tools for nil.
func (a *Access) seen(c *fiber.Ctx, props views.SeeAsProps, view *toolset.Snapshot) error {
	props.Task = strings.TrimSpace(c.Query("task"))
	if view == nil {
		return web.Render(c, views.SeeAs(props))
	}
	if err := a.list(c, &props, view); err != nil {
		return err
	}
	return web.Render(c, views.SeeAs(props))
}

// held returns everything that the subject of a grant holds of the project.
func (a *Access) held(ctx context.Context, project *models.Project, g grants.Grant) (rights.Held, error) {
	if g.Kind == models.SubjectPerson {
		return a.Rights.Held(project, g.SubjectID), nil
	}
	all, err := a.Grants.List(ctx, project.ID)
	if err != nil {
		return rights.Held{}, err
	}
	var held rights.Held
	for _, other := range all {
		switch {
		case other.Kind != g.Kind || other.SubjectID != g.SubjectID:
		case other.Toolset == nil:
			return rights.Held{Everything: true}, nil
		default:
			held.Toolsets = append(held.Toolsets, other.Toolset.ID)
		}
	}
	slices.Sort(held.Toolsets)
	return held, nil
}

// list sets the tools of the page: those of a view, or those that a search in it
// finds.
func (a *Access) list(c *fiber.Ctx, p *views.SeeAsProps, view *toolset.Snapshot) error {
	if p.Task == "" {
		p.Total = len(view.Tools)
		for _, t := range view.Tools[:min(len(view.Tools), maxSeen)] {
			p.List = append(p.List, toolOf(t))
		}
		return nil
	}
	principal := access.Administrator(guard.UserOf(c).ID, view.Project.ID)
	found, err := a.Search.Preview(c.UserContext(), view, toolsearch.Caller{ID: principal.ID(), UserID: principal.UserID()}, toolsearch.Arguments{Task: p.Task, Limit: new(toolsearch.MaxTaskLimit)}.JSON())
	if fault.From(err) != nil && fault.From(err).Kind == fault.KindInvalid {
		p.Problem = fault.From(err).Message
		c.Status(web.StatusOf(err))
		return nil
	}
	if err != nil {
		return err
	}
	p.Total = found.Total
	for _, f := range found.Found {
		p.List = append(p.List, toolOf(f.Tool))
	}
	return nil
}

// toolOf returns a tool as clients see it.
func toolOf(t *toolset.Tool) views.Tool {
	row := views.Tool{Name: t.Name}
	if definition, err := rawjson.ParseObject(t.Definition, rawjson.Lenient); err == nil {
		row.Description, _ = definition.String("description")
	}
	return row
}
