package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/web"
)

// People serves the user records.
type People struct{ people *access.Users }

// NewPeople returns the handlers.
func NewPeople(people *access.Users) *People { return &People{people: people} }

// personRecord reports whether there is a password but never contains it.
type personRecord struct {
	ID          string      `json:"id"`
	Email       string      `json:"email"`
	Name        string      `json:"name"`
	Role        models.Role `json:"role"`
	Effective   models.Role `json:"effectiveRole"`
	HasPassword bool        `json:"hasPassword"`
	HasIdentity bool        `json:"hasIdentity"`
	DisabledAt  *time.Time  `json:"disabledAt"`
	CreatedAt   time.Time   `json:"createdAt"`
	LastLoginAt *time.Time  `json:"lastLoginAt"`
}

func personOf(p access.User) personRecord {
	return personRecord{
		ID: p.ID, Email: p.Email, Name: p.Name, Role: p.Role, Effective: p.EffectiveRole, HasPassword: p.HasPassword, HasIdentity: p.HasIdentity,
		DisabledAt: p.DisabledAt, CreatedAt: p.CreatedAt, LastLoginAt: p.LastLoginAt,
	}
}

// List serves GET /api/people.
func (p *People) List(c *fiber.Ctx) error {
	rows, err := p.people.List(c.UserContext())
	if err != nil {
		return err
	}
	return RespondList(c, rows, personOf)
}

// noPasswords is the error of a request that contains a person's password.
const noPasswords = "people choose their own passwords; create a link with POST /api/invitations or POST /api/people/{id}/reset"

// Create serves POST /api/people. Single sign-on verifies the email address of the
// user; a link of POST /api/invitations works too.
func (p *People) Create(c *fiber.Ctx) error {
	var body struct {
		Email    string      `json:"email"`
		Name     string      `json:"name"`
		Role     models.Role `json:"role"`
		Password any         `json:"password"` // never accepted
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	if body.Password != nil {
		return fault.Validation(map[string]string{"password": noPasswords})
	}
	person, err := p.people.Create(c.UserContext(), access.NewUser{Email: body.Email, Name: body.Name, Role: body.Role})
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(personOf(person))
}

// personChange is the body of a change: one of its keys.
type personChange struct {
	Name     *string      `json:"name"`
	Role     *models.Role `json:"role"`
	Disabled *bool        `json:"disabled"`
	Password any          `json:"password"` // never accepted
}

// Update serves PATCH /api/people/:id with one key of name, role and disabled, so
// that a rejected change has no partial effect.
func (p *People) Update(c *fiber.Ctx) error {
	var body personChange
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	if err := p.change(c.UserContext(), c.Params("id"), body); err != nil {
		return err
	}
	person, err := p.people.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	return c.JSON(personOf(person))
}

func (p *People) change(ctx context.Context, id string, body personChange) error {
	if body.Password != nil {
		return fault.Validation(map[string]string{"password": noPasswords})
	}
	var steps []func() error
	if body.Name != nil {
		steps = append(steps, func() error { return p.people.Rename(ctx, id, *body.Name) })
	}
	if body.Role != nil {
		steps = append(steps, func() error { return p.people.SetRole(ctx, id, *body.Role) })
	}
	if body.Disabled != nil {
		steps = append(steps, func() error {
			if *body.Disabled {
				return p.people.Disable(ctx, id)
			}
			return p.people.Enable(ctx, id)
		})
	}
	if len(steps) != 1 {
		return fault.Validation(map[string]string{"(body)": "send exactly one of name, role and disabled"})
	}
	return steps[0]()
}

// Delete serves DELETE /api/people/:id.
func (p *People) Delete(c *fiber.Ctx) error {
	if err := p.people.Delete(c.UserContext(), c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
