package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/grants"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/web"
)

// Access serves who may use projects and their toolsets.
type Access struct {
	grants *grants.Store
	store  *projects.Store
}

// NewAccess returns the handlers.
func NewAccess(grants *grants.Store, store *projects.Store) *Access {
	return &Access{grants: grants, store: store}
}

type accessRecord struct {
	ID        string           `json:"id"`
	PersonID  *string          `json:"personId"`
	GroupID   *string          `json:"groupId"`
	Name      string           `json:"name"`    // of the person or group
	Toolset   *string          `json:"toolset"` // slug; null is everything
	Role      models.GrantRole `json:"role"`
	CreatedAt time.Time        `json:"createdAt"`
}

func accessOf(g grants.Grant) accessRecord {
	record := accessRecord{ID: g.ID, Name: g.Name, Role: g.Role, CreatedAt: g.CreatedAt}
	if g.Kind == models.SubjectGroup {
		record.GroupID = &g.SubjectID
	} else {
		record.PersonID = &g.SubjectID
	}
	if g.Toolset != nil {
		record.Toolset = &g.Toolset.Slug
	}
	return record
}

// List serves GET /api/projects/:projectSlug/access.
func (a *Access) List(c *fiber.Ctx) error {
	project, err := a.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	rows, err := a.grants.List(c.UserContext(), project.ID)
	if err != nil {
		return err
	}
	return RespondList(c, rows, accessOf)
}

// Create serves POST /api/projects/:projectSlug/access. It responds with an
// existing grant for one that exists already.
func (a *Access) Create(c *fiber.Ctx) error {
	var body struct {
		PersonID *string          `json:"personId"`
		GroupID  *string          `json:"groupId"`
		Toolset  *string          `json:"toolset"`
		Role     models.GrantRole `json:"role"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	if body.Toolset != nil && *body.Toolset == "" {
		return fault.Validation(map[string]string{"toolset": "use the slug of a toolset, or null for everything"})
	}
	project, err := a.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	grant, err := a.grants.Add(c.UserContext(), project.ID, grants.Request{
		PersonID: valueOf(body.PersonID), GroupID: valueOf(body.GroupID), Toolset: valueOf(body.Toolset), Role: body.Role,
	})
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(accessOf(grant))
}

// valueOf returns the text that s points to, or "".
func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Delete serves DELETE /api/projects/:projectSlug/access/:id.
func (a *Access) Delete(c *fiber.Ctx) error {
	project, err := a.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	if err := a.grants.Remove(c.UserContext(), project.ID, c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
