package catalog

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/admin/observe"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/services/fault"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// RequestsOptions are the dependencies of Requests.
type RequestsOptions struct {
	Pages     *admin.ProjectPages
	Catalog   *catalog.Catalog
	Store     *requests.Store
	Approvals *requests.Approvals
	Lists     func(ctx context.Context) ([]models.CatalogView, error) // to which entries can be added
	Callers   func() *observe.Callers                                 // names of people
	Now       func() time.Time
}

// Requests serves what people request from the catalog.
type Requests struct{ RequestsOptions }

// NewRequests returns the handlers.
func NewRequests(o RequestsOptions) *Requests { return &Requests{o} }

// List serves GET /admin/catalog/requests.
func (a *Requests) List(c *fiber.Ctx) error { return a.page(c, views.CatalogRequestsProps{}, nil) }

// page renders the queue. failed is the error of the rejected form of the request
// Failed, or nil.
func (a *Requests) page(c *fiber.Ctx, p views.CatalogRequestsProps, failed error) (err error) {
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	rows, err := a.Store.Queue(c.UserContext())
	if err != nil {
		return err
	}
	p.Frame, p.Now = a.Pages.Frame(c, "Requests", layout.SectionCatalog), a.Now()
	p.Frame.Crumbs = []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Requests"}}
	p.Tabs = public.CatalogTabs{Servers: len(a.Catalog.AllEntries()), Templates: len(a.Catalog.AllTemplates()), Sources: true, Current: public.TabRequests}
	for _, project := range a.Pages.Directory.All() {
		p.Projects = append(p.Projects, ui.Option{Value: project.Project.Slug, Label: cmp.Or(ui.Clean(project.Project.Name), project.Project.Slug)})
	}
	lists, err := a.Lists(c.UserContext())
	if err != nil {
		return err
	}
	for _, list := range lists {
		p.Views = append(p.Views, ui.Option{Value: list.Name, Label: ui.Clean(list.Title)})
	}
	callers := a.Callers()
	for _, row := range rows {
		r := a.request(c, row, callers)
		if row.State == models.RequestOpen {
			p.Open = append(p.Open, r)
		} else {
			p.Decided = append(p.Decided, r)
		}
	}
	return web.Render(c, views.CatalogRequests(p))
}

// request returns a request for the page.
func (a *Requests) request(c *fiber.Ctx, row models.CatalogRequest, callers *observe.Callers) views.CatalogRequest {
	r := views.CatalogRequest{
		ID: row.ID, Name: row.EntryName, Reason: row.Reason, Answer: row.Answer, State: row.State, CreatedAt: row.CreatedAt,
		Person: callers.Of(c.UserContext(), "user:"+row.UserID),
	}
	if row.DecidedBy != "" {
		r.DecidedBy = callers.Of(c.UserContext(), "user:"+row.DecidedBy)
	}
	if row.DecidedAt != nil {
		r.DecidedAt = *row.DecidedAt
	}
	if project := a.Pages.Directory.ProjectByID(row.ProjectID); project != nil {
		r.Project, r.ProjectSlug = cmp.Or(project.Project.Name, project.Project.Slug), project.Project.Slug
	}
	if e, err := a.Catalog.Entry(row.EntryID); err == nil {
		r.Name, r.URL, r.Program = e.ServerTitle, paths.RegistryEntry(e.PublisherName, e.ServerName), !catalog.Remote(e)
	}
	return r
}

// Approve serves POST /admin/catalog/requests/:id/approve: target is a project or
// a view.
func (a *Requests) Approve(c *fiber.Ctx) error {
	id, target := c.Params("id"), web.FormValue(c, "target")
	approval := requests.Approval{}
	if view, ok := strings.CutPrefix(target, views.TargetView); ok {
		approval.View = view
	} else {
		approval.Project = strings.TrimPrefix(target, views.TargetProject)
	}
	row, server, err := a.Approvals.Approve(c.UserContext(), id, approval)
	switch {
	case fault.Is(err, fault.CodeValidationFailed):
		return a.page(c, views.CatalogRequestsProps{Failed: id}, err)
	case err != nil:
		return frame.Failed(c, paths.CatalogRequests, err)
	case server.ID != "":
		return frame.Done(c, paths.Server(approval.Project, server.ID), "Request approved and server added. Connect it here.")
	}
	return frame.Done(c, paths.CatalogRequests, row.EntryName+" added to the view "+approval.View+".")
}

// Refuse serves POST /admin/catalog/requests/:id/refuse with a reason.
func (a *Requests) Refuse(c *fiber.Ctx) error {
	id, answer := c.Params("id"), web.FormValue(c, "answer")
	_, err := a.Store.Refuse(c.UserContext(), id, requests.Decision{Answer: answer})
	if fault.Is(err, fault.CodeValidationFailed) {
		return a.page(c, views.CatalogRequestsProps{Failed: id, Answer: answer}, err)
	}
	if err != nil {
		return frame.Failed(c, paths.CatalogRequests, err)
	}
	return frame.Done(c, paths.CatalogRequests, "Request refused.")
}
