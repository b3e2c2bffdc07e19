package signin

import (
	"time"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// Account serves the account page of the signed-in user.
type Account struct {
	pages  *frame.Pages
	people *access.Users
	guards *guard.Guards
	now    func() time.Time
}

// NewAccount returns the handlers. They require a guard that admits all signed-in
// users.
func NewAccount(pages *frame.Pages, people *access.Users, guards *guard.Guards, now func() time.Time) *Account {
	return &Account{pages: pages, people: people, guards: guards, now: now}
}

// Show serves GET /me/account.
func (a *Account) Show(c *fiber.Ctx) error { return a.page(c, nil) }

// ChangePassword serves POST /me/account/password.
func (a *Account) ChangePassword(c *fiber.Ctx) error {
	if web.FormValue(c, "password") != web.FormValue(c, "again") {
		errors, _ := frame.Fields(c, fault.Validation(map[string]string{"again": "Passwords don't match."}))
		return a.page(c, errors)
	}
	in, err := a.people.ChangePassword(c.UserContext(), frame.FormSecret(c, "old"), frame.FormSecret(c, "password"), browserOf(c, a.guards))
	if err != nil {
		if errors := refused(c, err); errors != nil {
			return a.page(c, errors)
		}
		return err
	}
	a.guards.SetSession(c, in.Cookie.Reveal())
	return frame.Done(c, paths.Account, "Password changed. You're signed out everywhere else.")
}

// EndSession serves POST /me/account/sessions/:id/end.
func (a *Account) EndSession(c *fiber.Ctx) error {
	if err := a.people.EndSession(c.UserContext(), guard.UserOf(c).ID, c.Params("id")); err != nil {
		return err
	}
	return frame.Done(c, paths.Account, "Session ended.")
}

// SignOutEverywhere serves POST /me/account/sign-out-everywhere.
func (a *Account) SignOutEverywhere(c *fiber.Ctx) error {
	if err := a.people.SignOutEverywhere(c.UserContext(), guard.UserOf(c).ID); err != nil {
		return err
	}
	a.guards.ClearSession(c)
	return frame.Done(c, paths.Login, "You're signed out everywhere.")
}

func (a *Account) page(c *fiber.Ctx, errors map[string]string) error {
	signedIn := guard.UserOf(c)
	person, err := a.people.Get(c.UserContext(), signedIn.ID)
	if err != nil {
		return err
	}
	sessions, err := a.people.Sessions(c.UserContext(), signedIn.ID)
	if err != nil {
		return err
	}
	return web.Render(c, admin.Account(admin.AccountProps{
		Frame: a.pages.Frame(c, "Account", layout.SectionAccount), Now: a.now(),
		HasPassword: person.HasPassword, HasIdentity: person.HasIdentity, Errors: errors, Sessions: sessionRows(sessions, signedIn.SessionID),
	}))
}

func sessionRows(sessions []access.SessionInfo, current string) (rows []admin.SessionRow) {
	for _, s := range sessions {
		rows = append(rows, admin.SessionRow{
			ID: s.ID, Current: s.ID == current, Browser: browserName(s.UserAgent), IP: s.IP,
			CreatedAt: s.CreatedAt, LastSeenAt: s.LastSeenAt, ExpiresAt: s.ExpiresAt,
		})
	}
	return rows
}
