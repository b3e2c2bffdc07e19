package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/web"
)

// FirstAdministrator creates the first administrator; access.People says how.
type FirstAdministrator interface {
	SetupOpen(ctx context.Context) (bool, error)
	Setup(ctx context.Context, form access.SetupForm, from access.Browser) (access.SignedIn, error)
}

// Setup serves the page on which the first administrator is made.
type Setup struct {
	pages  *Pages
	people FirstAdministrator
	guards *web.Guards
}

// NewSetup returns the handlers.
func NewSetup(pages *Pages, people FirstAdministrator, guards *web.Guards) *Setup {
	return &Setup{pages: pages, people: people, guards: guards}
}

// Show serves GET /setup. It returns NOT_FOUND once there was an administrator.
func (s *Setup) Show(c *fiber.Ctx) error {
	open, err := s.people.SetupOpen(c.UserContext())
	if err != nil {
		return err
	}
	if !open {
		return fault.New(fault.KindNotFound, fault.CodeNotFound, "the setup is over: there is an administrator already")
	}
	return s.form(c, admin.SetupProps{Token: c.Query("token")})
}

// Create serves POST /setup and signs the first administrator in.
func (s *Setup) Create(c *fiber.Ctx) error {
	form := access.SetupForm{Token: postedSecret(c, "token"), Email: posted(c, "email"), Name: posted(c, "name"), Password: postedSecret(c, "password")}
	p := admin.SetupProps{Token: posted(c, "token"), Email: form.Email, Name: form.Name}
	if posted(c, "password") != posted(c, "again") {
		p.Errors, _ = Fields(c, fault.Validation(map[string]string{"again": "the two passwords differ"}))
		return s.form(c, p)
	}
	in, err := s.people.Setup(c.UserContext(), form, browserOf(c, s.guards))
	if err != nil {
		if p.Errors = refused(c, err); p.Errors == nil {
			return err
		}
		return s.form(c, p)
	}
	s.guards.SetSession(c, in.Cookie.Reveal())
	return Done(c, homePath, "Welcome. You are the first administrator.")
}

func (s *Setup) form(c *fiber.Ctx, p admin.SetupProps) error {
	p.Frame = s.pages.Frame(c, "Set up", layout.SectionNone)
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer") // the address holds the code
	return web.Render(c, admin.Setup(p))
}
