// Package security serves the second factors of the signed-in user:
// authenticator apps, passkeys and recovery codes.
package security

import (
	"cmp"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/views/layout"
	views "mcpgateway/views/me"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
)

// Security serves the pages. They require a guard that admits all signed-in users,
// and their forms one that requires a confirmation.
type Security struct {
	pages   *frame.Pages
	people  *access.Users
	factors *factors.Store
	seal    *secrets.KeyRing
	now     func() time.Time
}

// New returns the handlers. seal encrypts new recovery codes for the page that
// shows them.
func New(pages *frame.Pages, people *access.Users, factors *factors.Store, seal *secrets.KeyRing, now func() time.Time) *Security {
	return &Security{pages: pages, people: people, factors: factors, seal: seal, now: now}
}

// Show serves GET /me/security.
func (s *Security) Show(c *fiber.Ctx) error {
	user, err := s.user(c)
	if err != nil {
		return err
	}
	set, err := s.factors.Of(c.UserContext(), user.ID)
	if err != nil {
		return err
	}
	p := views.SecurityProps{
		Now: s.now(), Next: queriedNext(c), MustSetUp: guard.UserOf(c).MustSetUp, HasPassword: user.HasPassword, HasPasskeys: s.factors.Passkeys(),
		MaxApps: factors.MaxApps, MaxPasskeys: factors.MaxPasskeys, Codes: set.Codes, MaxCodes: factors.RecoveryCodes,
	}
	for _, f := range set.Factors {
		row := views.Factor{ID: f.ID, Name: f.Name, Last: len(set.Factors) == 1, CreatedAt: f.CreatedAt, UsedAt: f.UsedAt}
		if f.Kind == factors.KindApp {
			p.Apps = append(p.Apps, row)
		} else {
			p.Passkeys = append(p.Passkeys, row)
		}
	}
	p.Frame = s.frame(c, "Second factor")
	return web.Render(c, views.Security(p))
}

// user returns the signed-in user.
func (s *Security) user(c *fiber.Ctx) (access.User, error) {
	signedIn := guard.UserOf(c)
	if signedIn == nil {
		return access.User{}, fault.Unauthorized()
	}
	return s.people.Get(c.UserContext(), signedIn.ID)
}

// owner returns the signed-in user as the owner of factors, with the session.
func owner(c *fiber.Ctx) (who factors.Person, sessionID string, err error) {
	signedIn := guard.UserOf(c)
	if signedIn == nil {
		return factors.Person{}, "", fault.Unauthorized()
	}
	return factors.Person{ID: signedIn.ID, Email: signedIn.Email}, signedIn.SessionID, nil
}

// frame returns the frame of a page in the user's account.
func (s *Security) frame(c *fiber.Ctx, title string) layout.Frame {
	f := s.pages.Frame(c, title, layout.SectionAccount)
	f.Crumbs = []layout.Crumb{{Label: "Account", URL: paths.Account}, {Label: "Second factor"}}
	if title != "Second factor" {
		f.Crumbs = []layout.Crumb{{Label: "Account", URL: paths.Account}, {Label: "Second factor", URL: paths.Security}, {Label: title}}
	}
	return f
}

// Rename serves POST /me/security/factors/:id/rename.
func (s *Security) Rename(c *fiber.Ctx) error {
	who, _, err := owner(c)
	if err != nil {
		return err
	}
	if err := s.factors.Rename(c.UserContext(), who, c.Params("id"), web.FormValue(c, "name")); err != nil {
		return frame.Failed(c, paths.Security, err)
	}
	return frame.Done(c, paths.Security, "Renamed.")
}

// Remove serves POST /me/security/factors/:id/remove.
func (s *Security) Remove(c *fiber.Ctx) error {
	user, err := s.user(c)
	if err != nil {
		return err
	}
	required := s.factors.Requires(user.Role, user.HasPassword)
	if err := s.factors.Remove(c.UserContext(), factors.Person{ID: user.ID, Email: user.Email}, required, c.Params("id")); err != nil {
		return frame.Failed(c, paths.Security, err)
	}
	return frame.Done(c, paths.Security, "Removed.")
}

// NewCodes serves POST /me/security/codes.
func (s *Security) NewCodes(c *fiber.Ctx) error {
	who, _, err := owner(c)
	if err != nil {
		return err
	}
	codes, err := s.factors.NewCodes(c.UserContext(), who)
	if err != nil {
		return frame.Failed(c, paths.Security, err)
	}
	return s.added(c, codes, "New codes created. The old ones no longer work.")
}

// queriedNext returns the page to show after the setup of a factor, from the query
// of a request, or "". It is a path of the gateway.
func queriedNext(c *fiber.Ctx) string { return guard.LocalPath(c.Query("next"), "") }

// postedNext is queriedNext for a posted form.
func postedNext(c *fiber.Ctx) string { return guard.LocalPath(web.FormValue(c, "next"), "") }

// added responds to a form that may have created recovery codes: it redirects to
// the page that shows them once, which leads to the page to show afterwards.
func (s *Security) added(c *fiber.Ctx, codes []string, message string) error {
	if len(codes) == 0 {
		return frame.Done(c, cmp.Or(postedNext(c), paths.Security), message)
	}
	if err := frame.PutOnce(c, s.seal, s.now(), paths.RecoveryCodes, secrets.NewValue(strings.Join(codes, "\n"))); err != nil {
		return err
	}
	return frame.Done(c, paths.WithNext(paths.RecoveryCodes, postedNext(c)), message)
}

// Codes serves GET /me/security/codes, the new recovery codes. With ?download=1
// they are a text file.
func (s *Security) Codes(c *fiber.Ctx) error {
	text := frame.Once(c, s.seal, s.now())
	if text == "" {
		return c.Redirect(paths.Security, fiber.StatusSeeOther)
	}
	if c.Query("download") == "" {
		return web.Render(c, views.Codes(views.CodesProps{Frame: s.frame(c, "Recovery codes"), Next: queriedNext(c), Codes: strings.Split(text, "\n")}))
	}
	compress.Never(c)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="gateway-recovery-codes.txt"`)
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	return c.SendString(text + "\n")
}
