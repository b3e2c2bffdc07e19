package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/invitations"
	"mcpgateway/web"
	"mcpgateway/web/compress"
)

// Invitations serves the links with which people set their passwords.
type Invitations struct{ links *invitations.Links }

// NewInvitations returns the handlers.
func NewInvitations(links *invitations.Links) *Invitations { return &Invitations{links: links} }

// linkRecord is a new link, which is shown only once. Mailed is present if a
// message was requested.
type linkRecord struct {
	PersonID  string    `json:"personId"`
	Link      string    `json:"link"`
	ExpiresAt time.Time `json:"expiresAt"`
	Mailed    *bool     `json:"mailed,omitempty"`
	Problem   string    `json:"mailProblem,omitempty"`
}

// Create serves POST /api/invitations: it adds a person, or with personId renews the
// link of one who has not joined.
func (i *Invitations) Create(c *fiber.Ctx) error {
	var body struct {
		Email    string      `json:"email"`
		Name     string      `json:"name"`
		Role     models.Role `json:"role"`
		PersonID string      `json:"personId"`
		Mail     bool        `json:"mail"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	if err := i.checkMail(body.Mail); err != nil {
		return err
	}
	if body.PersonID == "" {
		created, err := i.links.Invite(c.UserContext(), access.NewUser{Email: body.Email, Name: body.Name, Role: body.Role}, body.Mail)
		return i.respond(c, created, body.Mail, err)
	}
	if body.Email != "" || body.Name != "" || body.Role != "" {
		return fault.Validation(map[string]string{"personId": "send either personId, or email, name and role"})
	}
	created, err := i.links.Renew(c.UserContext(), body.PersonID, body.Mail)
	return i.respond(c, created, body.Mail, err)
}

// Reset serves POST /api/people/:id/reset.
func (i *Invitations) Reset(c *fiber.Ctx) error {
	var body struct {
		Mail bool `json:"mail"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	if err := i.checkMail(body.Mail); err != nil {
		return err
	}
	created, err := i.links.Reset(c.UserContext(), c.Params("id"), body.Mail)
	return i.respond(c, created, body.Mail, err)
}

// checkMail returns VALIDATION_FAILED if a message is requested without a mail
// server.
func (i *Invitations) checkMail(requested bool) error {
	if requested && !i.links.MailOn() {
		return fault.Validation(map[string]string{"mail": "no mail server is configured; set GATEWAY_SMTP_URL"})
	}
	return nil
}

func (i *Invitations) respond(c *fiber.Ctx, created invitations.Created, requested bool, err error) error {
	if err != nil {
		return err
	}
	compress.Never(c) // the link is a secret
	record := linkRecord{PersonID: created.User.ID, Link: created.URL.Reveal(), ExpiresAt: created.ExpiresAt, Problem: created.Problem}
	if requested {
		record.Mailed = &created.Mailed
	}
	return c.Status(fiber.StatusCreated).JSON(record)
}
