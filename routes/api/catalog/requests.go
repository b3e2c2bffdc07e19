package catalog

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/api"
	"mcpgateway/services/access/personal"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Requests serves what people request from the catalog.
type Requests struct {
	store     *requests.Store
	approvals *requests.Approvals
	own       *personal.Own
	projects  *toolset.Directory
}

// NewRequests returns the handlers. own has the projects that people name.
func NewRequests(store *requests.Store, approvals *requests.Approvals, own *personal.Own, projects *toolset.Directory) *Requests {
	return &Requests{store, approvals, own, projects}
}

type requestRecord struct {
	ID          string              `json:"id"`
	EntryID     string              `json:"entryId"`
	EntryName   string              `json:"entryName"` // publisher/server
	PersonID    string              `json:"personId"`
	ProjectSlug string              `json:"projectSlug"` // empty if none was named or it was deleted
	Reason      string              `json:"reason"`
	State       models.RequestState `json:"state"`
	Answer      string              `json:"answer"`
	DecidedBy   string              `json:"decidedBy"` // id of a person; empty for the administration token
	DecidedAt   *time.Time          `json:"decidedAt"`
	CreatedAt   time.Time           `json:"createdAt"`
}

func (h *Requests) record(row models.CatalogRequest) requestRecord {
	record := requestRecord{
		ID: row.ID, EntryID: row.EntryID, EntryName: row.EntryName, PersonID: row.UserID, Reason: row.Reason, State: row.State,
		Answer: row.Answer, DecidedBy: row.DecidedBy, DecidedAt: row.DecidedAt, CreatedAt: row.CreatedAt,
	}
	if project := h.projects.ProjectByID(row.ProjectID); project != nil {
		record.ProjectSlug = project.Project.Slug
	}
	return record
}

// List serves GET /api/catalog/requests.
func (h *Requests) List(c *fiber.Ctx) error {
	rows, err := h.store.Queue(c.UserContext())
	if err != nil {
		return err
	}
	return api.RespondList(c, rows, h.record)
}

// Create serves POST /api/catalog/requests, for the signed-in person.
func (h *Requests) Create(c *fiber.Ctx) error {
	var body struct {
		EntryID     string `json:"entryId"`
		ProjectSlug string `json:"projectSlug"`
		Reason      string `json:"reason"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	n := requests.NewRequest{EntryID: body.EntryID, UserID: guard.UserOf(c).ID, Reason: body.Reason}
	if body.ProjectSlug != "" {
		project, err := h.own.Project(n.UserID, body.ProjectSlug)
		if err != nil {
			return err
		}
		n.Project = &project.Project
	}
	row, err := h.store.Add(c.UserContext(), n)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(h.record(row))
}

// Approve serves POST /api/catalog/requests/:id/approve. It adds the server to the
// project or the view.
func (h *Requests) Approve(c *fiber.Ctx) error {
	var body struct {
		ProjectSlug string `json:"projectSlug"`
		View        string `json:"view"`
		Answer      string `json:"answer"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	row, _, err := h.approvals.Approve(c.UserContext(), c.Params("id"), requests.Approval{
		Project: body.ProjectSlug, View: body.View, Answer: body.Answer,
	})
	if err != nil {
		return err
	}
	return c.JSON(h.record(row))
}

// Refuse serves POST /api/catalog/requests/:id/refuse.
func (h *Requests) Refuse(c *fiber.Ctx) error {
	var body struct {
		Answer string `json:"answer"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	row, err := h.store.Refuse(c.UserContext(), c.Params("id"), requests.Decision{Answer: body.Answer})
	if err != nil {
		return err
	}
	return c.JSON(h.record(row))
}
