package signin

import (
	"context"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services"
	"mcpgateway/services/access"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Setup serves the page that creates the first administrator.
type Setup struct {
	pages  *frame.Pages
	people *access.Users
	demo   services.Demo
	guards *guard.Guards
}

// NewSetup returns the handlers. demo is nil if there is no demo project.
func NewSetup(pages *frame.Pages, people *access.Users, demo services.Demo, guards *guard.Guards) *Setup {
	return &Setup{pages: pages, people: people, demo: demo, guards: guards}
}

// Show serves GET /setup. It returns NOT_FOUND after an administrator was created.
func (s *Setup) Show(c *fiber.Ctx) error {
	open, err := s.people.SetupOpen(c.UserContext())
	if err != nil {
		return err
	}
	if !open {
		return fault.New(fault.KindNotFound, fault.CodeNotFound, "Setup is done. Sign in instead.")
	}
	return s.form(c, admin.SetupProps{Token: c.Query("token")})
}

// Create serves POST /setup and signs the first administrator in.
func (s *Setup) Create(c *fiber.Ctx) error {
	form := access.SetupForm{Token: frame.FormSecret(c, "token"), Email: web.FormValue(c, "email"), Name: web.FormValue(c, "name"), Password: frame.FormSecret(c, "password")}
	p := admin.SetupProps{Token: web.FormValue(c, "token"), Email: form.Email, Name: form.Name, Demo: web.FormValue(c, "demo") != ""}
	if web.FormValue(c, "password") != web.FormValue(c, "again") {
		p.Errors, _ = frame.Fields(c, fault.Validation(map[string]string{"again": "Passwords don't match."}))
		return s.form(c, p)
	}
	in, err := s.people.Setup(c.UserContext(), form, browserOf(c, s.guards))
	if err != nil {
		if p.Errors = refused(c, err); p.Errors == nil {
			return err
		}
		return s.form(c, p)
	}
	setSignedIn(c, s.guards, in)
	if !p.Demo {
		return frame.Done(c, paths.Home, welcome)
	}
	return s.withDemo(c, in.Session.Person)
}

// withDemo loads the demo project and redirects to it.
func (s *Setup) withDemo(c *fiber.Ctx, person access.User) error {
	slug, err := s.loadDemo(c, person)
	if err != nil {
		frame.PutFlash(c, layout.Flash{Tone: "warn", Text: welcome + " The demo project couldn't be loaded: " + ui.Sentence(fault.From(err).Message)})
		return c.Redirect(paths.Home, fiber.StatusSeeOther)
	}
	return frame.Done(c, paths.Project(slug), welcome+" The demo project is ready. Connect a client or try its tools.")
}

const welcome = "Welcome. You're the first administrator."

// loadDemo loads the demo project with the user as the audit actor and returns its
// slug.
func (s *Setup) loadDemo(c *fiber.Ctx, person access.User) (slug string, err error) {
	if s.demo == nil {
		return "", fault.Conflict("This process has no demo project.")
	}
	actor := activity.ActorOf(c.UserContext())
	actor.Kind, actor.ID, actor.Name = activity.ActorUser, person.ID, person.Email
	return s.demo.Load(reach.With(activity.WithActor(c.UserContext(), actor), reach.Everything()))
}

func (s *Setup) demoOffered(ctx context.Context) (bool, error) {
	if s.demo == nil {
		return false, nil
	}
	return s.demo.Offered(ctx)
}

func (s *Setup) form(c *fiber.Ctx, p admin.SetupProps) error {
	var err error
	if p.OffersDemo, err = s.demoOffered(c.UserContext()); err != nil {
		return err
	}
	p.Frame = s.pages.Frame(c, "Set up", layout.SectionNone)
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer") // the URL contains the setup code
	return web.Render(c, admin.Setup(p))
}
