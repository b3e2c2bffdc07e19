package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/web"
)

// stepUpPath is where people prove again who they are.
const stepUpPath = "/login/again"

// StepUpPath returns where somebody proves again who they are before they come
// to the page next.
func StepUpPath(next string) string { return withNext(stepUpPath, next) }

// Prover lets people prove again who they are; access.People says how.
type Prover interface {
	Get(ctx context.Context, id string) (access.Person, error)
	StepUp(ctx context.Context, password secrets.Value, from access.Browser) (access.SignedIn, error)
}

// StepUp serves the page on which people prove again who they are.
type StepUp struct {
	pages  *Pages
	people Prover
	guards *web.Guards
	sso    string
}

// NewStepUp returns the handlers. sso is what the identity provider is called,
// or empty when there is none.
func NewStepUp(pages *Pages, people Prover, guards *web.Guards, sso string) *StepUp {
	return &StepUp{pages: pages, people: people, guards: guards, sso: sso}
}

// Show serves GET /login/again.
func (s *StepUp) Show(c *fiber.Ctx) error {
	return s.form(c, admin.StepUpProps{Next: web.LocalPath(c.Query("next"), homePath)})
}

// Prove serves POST /login/again.
func (s *StepUp) Prove(c *fiber.Ctx) error {
	next := web.LocalPath(posted(c, "next"), homePath)
	in, err := s.people.StepUp(c.UserContext(), postedSecret(c, "password"), browserOf(c, s.guards))
	if err != nil {
		errors := refused(c, err)
		if errors == nil {
			return err
		}
		return s.form(c, admin.StepUpProps{Next: next, Errors: errors})
	}
	s.guards.SetSession(c, in.Cookie.Reveal())
	return c.Redirect(next, fiber.StatusSeeOther)
}

func (s *StepUp) form(c *fiber.Ctx, p admin.StepUpProps) error {
	signedIn := web.PersonOf(c)
	if signedIn == nil {
		return fault.Unauthorized()
	}
	person, err := s.people.Get(c.UserContext(), signedIn.ID)
	if err != nil {
		return err
	}
	p.Frame = s.pages.Frame(c, "Confirm who you are", layout.SectionNone)
	p.Password = person.HasPassword
	if s.sso != "" && person.HasIdentity {
		p.Provider, p.ProviderURL = s.sso, withNext(ssoPath, p.Next)+"&fresh=1"
	}
	return web.Render(c, admin.StepUp(p))
}
