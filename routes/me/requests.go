package me

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/personal"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/views/layout"
	views "mcpgateway/views/me"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Requests stores what users request from the catalog. Implemented by
// requests.Store.
type Requests interface {
	Own(ctx context.Context, userID string) ([]models.CatalogRequest, error)
	Add(ctx context.Context, n requests.NewRequest) (models.CatalogRequest, error)
	Withdraw(ctx context.Context, userID, id string) error
}

// Catalog returns visible entries. Implemented by catalog.Catalog.
type Catalog interface {
	Entry(id string) (*models.CatalogEntry, error)
}

// Requests serves GET /me/requests: what the user requested from the catalog.
func (m *Me) Requests(c *fiber.Ctx) error {
	user := guard.UserOf(c)
	rows, err := m.CatalogRequests.Own(c.UserContext(), user.ID)
	if err != nil {
		return err
	}
	p := views.RequestsProps{Frame: m.Pages.Frame(c, "My requests", layout.SectionRequests), Now: m.Now()}
	names := map[string]string{}
	for _, project := range m.Own.Projects(user.ID) {
		names[project.Project.ID] = nameOf(project)
	}
	for _, row := range rows {
		r := views.Request{
			ID: row.ID, Name: row.EntryName, Reason: row.Reason, Answer: row.Answer, Project: names[row.ProjectID], State: row.State, CreatedAt: row.CreatedAt,
		}
		if e, err := m.Catalog.Entry(row.EntryID); err == nil {
			r.Name, r.URL = e.ServerTitle, paths.RegistryEntry(e.PublisherName, e.ServerName)
		}
		p.Rows = append(p.Rows, r)
	}
	return web.Render(c, views.Requests(p))
}

// AddRequest serves POST /me/requests: entry, project and reason.
func (m *Me) AddRequest(c *fiber.Ctx) error {
	user := guard.UserOf(c)
	entry, err := m.Catalog.Entry(web.FormValue(c, "entry"))
	if err != nil {
		return err
	}
	here := paths.RegistryEntry(entry.PublisherName, entry.ServerName)
	n := requests.NewRequest{EntryID: entry.ID, UserID: user.ID, Reason: web.FormValue(c, "reason")}
	if slug := web.FormValue(c, "project"); slug != "" {
		var project personal.Project
		if project, err = m.Own.Project(user.ID, slug); err != nil {
			return frame.Failed(c, here, err)
		}
		n.Project = &project.Project
	}
	if _, err := m.CatalogRequests.Add(c.UserContext(), n); err != nil {
		return frame.Failed(c, here, err)
	}
	return frame.Done(c, paths.MyRequests, ui.Clean(entry.ServerTitle)+" requested. An administrator will decide.")
}

// WithdrawRequest serves POST /me/requests/:id/withdraw.
func (m *Me) WithdrawRequest(c *fiber.Ctx) error {
	if err := m.CatalogRequests.Withdraw(c.UserContext(), guard.UserOf(c).ID, c.Params("id")); err != nil {
		return frame.Failed(c, paths.MyRequests, err)
	}
	return frame.Done(c, paths.MyRequests, "Request withdrawn.")
}
