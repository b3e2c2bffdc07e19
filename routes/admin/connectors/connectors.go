// Package connectors serves the connectors of a project: the list, the form of a
// new one, and the page of a connector, which shows when its computer connects.
package connectors

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/admin/live"
	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/runners/connectors"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	shared "mcpgateway/views/admin"
	views "mcpgateway/views/admin/connectors"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Options are the dependencies of Connectors.
type Options struct {
	Pages     *admin.ProjectPages
	Store     *connectors.Store
	Connected func(row models.Connector) bool // to this process
	Seal      *secrets.KeyRing                // encrypts a new token for the page that shows it
	Public    *url.URL
	Now       func() time.Time
}

// Connectors serves the connectors of a project.
type Connectors struct{ Options }

// New returns the handlers.
func New(o Options) *Connectors { return &Connectors{o} }

// List serves GET /admin/projects/:projectSlug/connectors.
func (a *Connectors) List(c *fiber.Ctx) error {
	return a.list(c, views.ListProps{Expires: "90"}, nil)
}

// list renders the list with the form of a new connector. failed is the error of a
// rejected one, or nil.
func (a *Connectors) list(c *fiber.Ctx, p views.ListProps, failed error) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	rows, err := a.Store.List(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	p.Frame = a.Pages.ProjectFrame(c, project, layout.TabKeys, "Connectors", layout.Crumb{Label: "Connectors"})
	p.Slug, p.Now = project.Project.Slug, a.Now()
	for _, row := range rows {
		p.Rows = append(p.Rows, a.row(project, row))
	}
	return web.Render(c, views.List(p))
}

func (a *Connectors) row(p *toolset.Snapshot, row models.Connector) views.Row {
	r := views.Row{
		ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastSeenAt: row.LastSeenAt, RevokedAt: row.RevokedAt,
	}
	r.Online = a.Connected(row)
	for _, s := range p.Servers {
		if s.Config.ConnectorID == row.ID {
			r.Servers++
			program, ok := a.Pages.Health.ProgramOf(s)
			r.Online = r.Online || ok && program.Elsewhere()
		}
	}
	return r
}

// Create serves POST /admin/projects/:projectSlug/connectors. The page of the
// connector shows its token.
func (a *Connectors) Create(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	p := views.ListProps{Name: strings.TrimSpace(web.FormValue(c, "name")), Expires: cmp.Or(web.FormValue(c, "expires"), "90")}
	days, err := strconv.Atoi(p.Expires)
	if err != nil || days < 1 || days > 365 {
		return a.list(c, p, fault.Validation(map[string]string{"expires": "choose when the token expires"}))
	}
	row, token, err := a.Store.Create(c.UserContext(), project.Project.ID, connectors.Attributes{Name: p.Name, Lifetime: time.Duration(days) * 24 * time.Hour})
	if err != nil {
		return a.list(c, p, err)
	}
	to := paths.Connector(project.Project.Slug, row.ID)
	if err := frame.PutOnce(c, a.Seal, a.Now(), to, token); err != nil {
		return err
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Show serves GET /admin/projects/:projectSlug/connectors/:id.
func (a *Connectors) Show(c *fiber.Ctx) error {
	project, row, err := a.connector(c)
	if err != nil {
		return err
	}
	p := a.page(project, row)
	p.Frame = a.Pages.ProjectFrame(c, project, layout.TabKeys, row.Name, layout.Crumb{Label: "Connectors", URL: paths.Connectors(p.Slug)}, layout.Crumb{Label: ui.Clean(row.Name)})
	p.Live = []string{views.Topic + ":" + row.ID}
	p.Token = frame.Once(c, a.Seal, a.Now())
	return web.Render(c, views.Page(p))
}

// page returns a connector without the frame of its page.
func (a *Connectors) page(p *toolset.Snapshot, row models.Connector) views.PageProps {
	props := views.PageProps{Slug: p.Project.Slug, Now: a.Now(), Row: a.row(p, row), Command: shared.ConnectRunner(a.Public.String())}
	for _, s := range p.Servers {
		if s.Config.ConnectorID == row.ID {
			state, _ := a.Pages.Health.StateOf(s)
			props.Servers = append(props.Servers, views.Server{ID: s.Config.ID, Alias: s.Config.Alias, Tone: state.Tone, State: state.Word})
		}
	}
	return props
}

// connector returns the connector that the URL names, and its project.
func (a *Connectors) connector(c *fiber.Ctx) (*toolset.Snapshot, models.Connector, error) {
	project, err := a.Pages.Project(c)
	if err != nil {
		return nil, models.Connector{}, err
	}
	row, err := a.of(c.UserContext(), project, c.Params("id"))
	return project, row, err
}

// of returns a connector of a project, or NOT_FOUND.
func (a *Connectors) of(ctx context.Context, p *toolset.Snapshot, id string) (models.Connector, error) {
	row, err := a.Store.Get(ctx, id)
	if err == nil && row.ProjectID != p.Project.ID {
		return row, fault.NotFound("connector", id)
	}
	return row, err
}

// Revoke serves POST /admin/projects/:projectSlug/connectors/:id/revoke.
func (a *Connectors) Revoke(c *fiber.Ctx) error {
	project, row, err := a.connector(c)
	if err != nil {
		return err
	}
	to := paths.Connectors(project.Project.Slug)
	if err := a.Store.Revoke(c.UserContext(), project.Project.ID, row.ID); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Connector "+row.Name+" revoked.")
}

// statusEvery is the time between two renderings of the status of a connector.
const statusEvery = 2 * time.Second

// Topics returns the live topics of the pages.
func (a *Connectors) Topics() []live.Topic {
	return []live.Topic{{Name: views.Topic, Every: statusEvery, Open: a.open}}
}

func (a *Connectors) open(s live.Scope) (live.Render, error) {
	id := s.Arg
	return func(ctx context.Context) ([]live.Part, error) {
		p := s.Project()
		if p == nil {
			return nil, nil
		}
		row, err := a.of(ctx, p, id)
		if fault.Is(err, fault.CodeNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []live.Part{{ID: views.StatusPart, Body: views.Status(a.page(p, row))}}, nil
	}, nil
}
