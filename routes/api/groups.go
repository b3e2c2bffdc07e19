package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/groups"
	"mcpgateway/web"
)

// Groups serves the groups of users.
type Groups struct{ groups *groups.Store }

// NewGroups returns the handlers.
func NewGroups(groups *groups.Store) *Groups { return &Groups{groups: groups} }

type groupRecord struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Claim     string      `json:"claim"`
	Role      models.Role `json:"role"`
	People    int         `json:"people"`
	CreatedAt time.Time   `json:"createdAt"`
	UpdatedAt time.Time   `json:"updatedAt"`
}

func groupOf(g groups.Group) groupRecord {
	return groupRecord{ID: g.ID, Name: g.Name, Claim: g.Claim, Role: g.Role, People: g.People, CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt}
}

// memberRecord is a member of a group. ClaimedAt and ExpiresAt are null without
// a membership by the claim.
type memberRecord struct {
	ID        string     `json:"id"`
	Email     string     `json:"email"`
	Name      string     `json:"name"`
	Local     bool       `json:"local"`
	ClaimedAt *time.Time `json:"claimedAt"`
	ExpiresAt *time.Time `json:"expiresAt"`
	Active    bool       `json:"active"`
}

// List serves GET /api/groups.
func (g *Groups) List(c *fiber.Ctx) error {
	rows, err := g.groups.List(c.UserContext())
	if err != nil {
		return err
	}
	return RespondList(c, rows, groupOf)
}

// Get serves GET /api/groups/:id, with the members.
func (g *Groups) Get(c *fiber.Ctx) error {
	group, err := g.groups.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	rows, err := g.groups.Members(c.UserContext(), group.ID)
	if err != nil {
		return err
	}
	answer := struct {
		groupRecord
		Members []memberRecord `json:"members"`
	}{groupOf(group), make([]memberRecord, len(rows))}
	for i, m := range rows {
		answer.Members[i] = memberRecord{
			ID: m.UserID, Email: m.Email, Name: m.Name, Local: m.Local, ClaimedAt: m.ClaimedAt, ExpiresAt: m.ExpiresAt, Active: m.Counts,
		}
	}
	return c.JSON(answer)
}

// groupFields is the body of a new group and of a change.
type groupFields struct {
	Name  *string      `json:"name"`
	Claim *string      `json:"claim"`
	Role  *models.Role `json:"role"`
}

// Create serves POST /api/groups.
func (g *Groups) Create(c *fiber.Ctx) error {
	var body groupFields
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	group, err := g.groups.Create(c.UserContext(), groups.Fields(body))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(groupOf(group))
}

// Update serves PATCH /api/groups/:id. Absent keys leave their field unchanged.
func (g *Groups) Update(c *fiber.Ctx) error {
	var body groupFields
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	group, err := g.groups.Update(c.UserContext(), c.Params("id"), groups.Fields(body))
	if err != nil {
		return err
	}
	return c.JSON(groupOf(group))
}

// Delete serves DELETE /api/groups/:id.
func (g *Groups) Delete(c *fiber.Ctx) error {
	return noContent(c, g.groups.Delete(c.UserContext(), c.Params("id")))
}

// AddMember serves PUT /api/groups/:id/members/:personId.
func (g *Groups) AddMember(c *fiber.Ctx) error {
	return noContent(c, g.groups.AddMember(c.UserContext(), c.Params("id"), c.Params("personId")))
}

// RemoveMember serves DELETE /api/groups/:id/members/:personId.
func (g *Groups) RemoveMember(c *fiber.Ctx) error {
	return noContent(c, g.groups.RemoveMember(c.UserContext(), c.Params("id"), c.Params("personId")))
}

func noContent(c *fiber.Ctx, err error) error {
	if err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
