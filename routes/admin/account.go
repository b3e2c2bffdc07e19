package admin

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// accountPath is the page of a person's own account.
const accountPath = "/admin/account"

// AccountKeeper keeps what concerns one person; access.People says how.
type AccountKeeper interface {
	Get(ctx context.Context, id string) (access.Person, error)
	Sessions(ctx context.Context, userID string) ([]access.SessionInfo, error)
	EndSession(ctx context.Context, userID, sessionID string) error
	SignOutEverywhere(ctx context.Context, userID string) error
	ChangePassword(ctx context.Context, old, password secrets.Value, from access.Browser) (access.SignedIn, error)
}

// Account serves people their own account.
type Account struct {
	pages  *Pages
	people AccountKeeper
	guards *guard.Guards
	now    func() time.Time
}

// NewAccount returns the handlers. Mount them behind a guard that admits
// everybody who is signed in.
func NewAccount(pages *Pages, people AccountKeeper, guards *guard.Guards, now func() time.Time) *Account {
	return &Account{pages: pages, people: people, guards: guards, now: now}
}

// Show serves GET /admin/account.
func (a *Account) Show(c *fiber.Ctx) error { return a.page(c, nil) }

// ChangePassword serves POST /admin/account/password.
func (a *Account) ChangePassword(c *fiber.Ctx) error {
	if posted(c, "password") != posted(c, "again") {
		errors, _ := Fields(c, fault.Validation(map[string]string{"again": "the two passwords differ"}))
		return a.page(c, errors)
	}
	in, err := a.people.ChangePassword(c.UserContext(), postedSecret(c, "old"), postedSecret(c, "password"), browserOf(c, a.guards))
	if err != nil {
		if errors := refused(c, err); errors != nil {
			return a.page(c, errors)
		}
		return err
	}
	a.guards.SetSession(c, in.Cookie.Reveal())
	return Done(c, accountPath, "Your password is changed. Your other sessions are over.")
}

// EndSession serves POST /admin/account/sessions/:id/end.
func (a *Account) EndSession(c *fiber.Ctx) error {
	if err := a.people.EndSession(c.UserContext(), guard.PersonOf(c).ID, c.Params("id")); err != nil {
		return err
	}
	return Done(c, accountPath, "That browser is signed out.")
}

// SignOutEverywhere serves POST /admin/account/sign-out-everywhere.
func (a *Account) SignOutEverywhere(c *fiber.Ctx) error {
	if err := a.people.SignOutEverywhere(c.UserContext(), guard.PersonOf(c).ID); err != nil {
		return err
	}
	a.guards.ClearSession(c)
	return Done(c, loginPath, "You are signed out everywhere.")
}

func (a *Account) page(c *fiber.Ctx, errors map[string]string) error {
	signedIn := guard.PersonOf(c)
	person, err := a.people.Get(c.UserContext(), signedIn.ID)
	if err != nil {
		return err
	}
	sessions, err := a.people.Sessions(c.UserContext(), signedIn.ID)
	if err != nil {
		return err
	}
	p := admin.AccountProps{
		Frame: a.pages.Frame(c, "Your account", layout.SectionAccount), Now: a.now(),
		HasPassword: person.HasPassword, HasIdentity: person.HasIdentity, Errors: errors,
	}
	for _, s := range sessions {
		p.Sessions = append(p.Sessions, admin.SessionRow{
			ID: s.ID, Current: s.ID == signedIn.SessionID, Browser: browserName(s.UserAgent), IP: s.IP,
			CreatedAt: s.CreatedAt, LastSeenAt: s.LastSeenAt, ExpiresAt: s.ExpiresAt,
		})
	}
	return web.Render(c, admin.Account(p))
}
