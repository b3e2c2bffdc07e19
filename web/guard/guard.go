// Package guard decides who may use a route. It handles browser sessions and
// their cookies, the administration token, CSRF protection, step-up
// confirmation, and forms stored until their user has signed in or confirmed
// the password.
package guard

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
)

// Roles of users.
const (
	RoleAdmin  = "admin"
	RoleViewer = "viewer"
	RoleMember = "member"
)

// Lifetimes of the cookies in the browser. The server ends sessions sooner.
const (
	sessionCookieAge = 14 * 24 * time.Hour
	deviceCookieAge  = 180 * 24 * time.Hour
	flowCookieAge    = 10 * time.Minute
	secondStepAge    = 5 * time.Minute
)

// maxNext is the maximum length of the path to return to after the sign-in, in
// bytes.
const maxNext = 2048

// User is the signed-in user of a request.
type User struct {
	ID, Name, Email string
	Role            string
	SessionID       string    // unchanged when the cookie's value is renewed
	CSRF            string    // token for the form field csrf, masked by MaskToken
	ConfirmedUntil  time.Time // when the last confirmation of the password expires
	GroupsOverage   bool      // the identity provider left the groups out at the last sign-in
	MustSetUp       bool      // must set up a second factor before anything else
}

// Sessions finds users by the value of a session cookie. Without such a session
// it returns nil and no error.
type Sessions interface {
	// User returns the user of a live session. active is false for requests
	// that an open page makes without user interaction.
	User(ctx context.Context, cookie string, active bool) (*User, error)
	// Expired returns the user of a session that expired because of its age.
	Expired(ctx context.Context, cookie string) (*User, error)
}

// TokenChecker compares a bearer token with the expected one.
type TokenChecker interface{ Matches(token string) bool }

// Actor is the originator of a request, for the audit log.
type Actor struct {
	Kind      string // user, token or client
	ID, Name  string
	Role      string // of a user
	IP        string
	RequestID string
}

// Act returns a context whose changes are attributed to the actor.
type Act func(ctx context.Context, a Actor) context.Context

// Options configure guards.
type Options struct {
	Sessions   Sessions
	Token      TokenChecker
	Failures   *ratelimit.FailureLimit // counts wrong administration tokens
	PublicURL  *url.URL
	NeedStepUp func(confirmedUntil time.Time) error // returns nil while the confirmation is valid
	Act        Act
	// Denied is called when a known user may not use a route, given as its
	// method and pattern. It may be nil.
	Denied     func(ctx context.Context, route, role string)
	LoginPath  string                 // sign-in page
	StepUpPath string                 // page that confirms the password
	SetUpPath  string                 // page on which users set up a second factor
	SetsUp     func(path string) bool // reports whether users who must set up a second factor may use the path
	// Standing returns the standing of a signed-in user on the route of a
	// request. missing is the fault of a route whose project the user may not see,
	// the same as for one that doesn't exist. Without it there are no
	// maintainers.
	Standing  func(c *fiber.Ctx, p *User) (s Standing, missing error)
	Forms     FormKeeper             // stores forms until sign-in or confirmation; may be nil
	KeepsForm func(path string) bool // reports whether forms posted to the path are stored
}

// Guards restrict access to routes. Each method returns the handlers that
// precede those of one kind of route.
type Guards struct {
	options Options
	origin  string
	secure  bool
	dialog  fiber.Handler // responds with the confirmation dialog; may be nil
}

// New returns guards with the options.
func New(o Options) *Guards {
	return &Guards{options: o, origin: web.OriginOf(o.PublicURL), secure: o.PublicURL.Scheme == "https"}
}

// SetDialog sets the handler that responds with the confirmation dialog for a
// posted form. It must be called before the first request.
func (g *Guards) SetDialog(dialog fiber.Handler) { g.dialog = dialog }

// confirm responds to a form with headerConfirm: 204 if the user may send it,
// otherwise 403 with the confirmation dialog.
func (g *Guards) confirm(c *fiber.Ctx, p *User) error {
	if g.dialog == nil || g.options.NeedStepUp(p.ConfirmedUntil) == nil {
		return c.SendStatus(fiber.StatusNoContent)
	}
	c.Status(fiber.StatusForbidden)
	return g.dialog(c)
}

// Visitor admits everyone and identifies signed-in users. It is for public
// pages and for signing in. Posted forms must come from the gateway's own
// pages; they need no CSRF token because there is no session yet.
func (g *Guards) Visitor() []fiber.Handler {
	return []fiber.Handler{g.identify, g.checkOwnPages}
}

// Signed admits every signed-in user, regardless of the role. Methods other
// than GET and HEAD need the CSRF token.
func (g *Guards) Signed() []fiber.Handler {
	return []fiber.Handler{g.identify, g.requireRole(RoleAdmin, RoleViewer, RoleMember), g.checkForgery}
}

// Session is Signed without the administration token, for what belongs to the
// user.
func (g *Guards) Session() []fiber.Handler {
	return []fiber.Handler{g.identify, rejectToken, g.requireRole(RoleAdmin, RoleViewer, RoleMember), g.checkForgery}
}

// rejectToken rejects the administration token.
func rejectToken(c *fiber.Ctx) error {
	if c.Locals(tokenKey) != nil {
		return fault.Forbidden("The administration token has no account. Sign in instead.")
	}
	return c.Next()
}

// Viewer admits administrators, viewers, and on the API the administration
// token.
func (g *Guards) Viewer() []fiber.Handler {
	return []fiber.Handler{g.identify, g.requireRole(RoleAdmin, RoleViewer), g.checkForgery}
}

// Admin admits administrators, and on the API the administration token. Methods
// other than GET and HEAD need the CSRF token of the session.
func (g *Guards) Admin() []fiber.Handler {
	return []fiber.Handler{g.identify, g.requireRole(RoleAdmin), g.checkForgery}
}

// RequireStepUp follows Admin or Signed on routes that change secrets. It admits
// users who confirmed their password recently and redirects others to confirm
// it. The administration token needs no confirmation.
func (g *Guards) RequireStepUp(c *fiber.Ctx) error {
	if ok, err := g.StepUp(c); !ok {
		return err
	}
	return c.Next()
}

// StepUp reports whether the request may change secrets, as Careful does. If it
// returns false without an error, it has already sent the response, and the
// stored form is carried out after the user has confirmed the password.
func (g *Guards) StepUp(c *fiber.Ctx) (ok bool, err error) {
	p := UserOf(c)
	if p == nil {
		if c.Locals(tokenKey) == nil {
			return false, fault.Unauthorized()
		}
		return true, nil
	}
	err = g.options.NeedStepUp(p.ConfirmedUntil)
	if err == nil || isAPI(c) {
		return err == nil, err
	}
	form, err := g.keep(c, p, false)
	if err != nil {
		return false, err
	}
	return false, g.sendTo(c, g.options.StepUpPath, form)
}

// headerBackground marks requests that a page makes without user interaction.
const headerBackground = "X-Background"

// headerConfirm marks a form that the script of a page posts to learn whether
// the user must confirm the password first. No handler receives such a form.
const headerConfirm = "X-Confirm"

// Keys in a request's locals.
const (
	personKey = "person"
	tokenKey  = "token"
)

// UserOf returns the signed-in user. It returns nil for visitors, for
// programs with the administration token, and on routes without a guard that
// identifies users.
func UserOf(c *fiber.Ctx) *User {
	p, _ := c.Locals(personKey).(*User)
	return p
}

// identify identifies the originator of the request, once. On the API a bearer
// token takes precedence and the cookie is ignored. Any other Authorization
// header belongs to a proxy and is ignored.
func (g *Guards) identify(c *fiber.Ctx) error {
	if err := g.Identify(c); err != nil {
		return err
	}
	return c.Next()
}

// Identify identifies the originator of a request as every guard does, for
// requests that passed no guard.
func (g *Guards) Identify(c *fiber.Ctx) error {
	actor := Actor{Kind: "client", IP: web.ClientIP(c), RequestID: web.EventOf(c).RequestID}
	switch presented, bearer := bearerToken(c); {
	case bearer && isAPI(c):
		if err := g.checkToken(c, presented); err != nil {
			return err
		}
		if c.Locals(tokenKey) != nil {
			actor.Kind, actor.Name = "token", "administration token"
		}
	case c.Cookies(g.sessionName()) != "":
		p, err := g.options.Sessions.User(c.UserContext(), c.Cookies(g.sessionName()), c.Get(headerBackground) == "")
		if err != nil {
			return err
		}
		if p != nil {
			c.Locals(personKey, p)
			if !isAPI(c) {
				web.AllowErrorPage(c)
			}
			actor.Kind, actor.ID, actor.Name, actor.Role = "user", p.ID, cmp.Or(p.Email, p.Name), p.Role
		}
	}
	c.SetUserContext(g.options.Act(c.UserContext(), actor))
	c.Vary(fiber.HeaderCookie)
	return nil
}

// checkToken records in the request that it has the administration token. It
// returns RATE_LIMITED for an address with too many wrong tokens. The right
// token is accepted even then, because programs share addresses.
func (g *Guards) checkToken(c *fiber.Ctx, presented string) error {
	if !g.options.Token.Matches(presented) {
		return g.options.Failures.Failed(c, "")
	}
	c.Locals(tokenKey, true)
	return nil
}

// bearerToken returns the token of an Authorization header with the scheme
// Bearer (RFC 6750, section 2.1).
func bearerToken(c *fiber.Ctx) (token string, ok bool) {
	scheme, token, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "bearer")
}

// requireRole admits users with one of the roles, and the administration token.
func (g *Guards) requireRole(roles ...string) fiber.Handler { return g.require(noStanding, roles...) }

// require admits as requireRole, and users with at least the standing.
func (g *Guards) require(least Standing, roles ...string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "no-store") // handlers may override it
		if c.Locals(tokenKey) != nil {
			return c.Next()
		}
		p := UserOf(c)
		if p == nil && isAPI(c) {
			c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="gateway administration"`)
			return fault.Unauthorized()
		}
		if p == nil && c.Get(headerConfirm) != "" {
			return c.SendStatus(fiber.StatusNoContent) // the form itself is sent to the sign-in
		}
		if p == nil {
			form, err := g.keepExpired(c)
			if err != nil {
				return err
			}
			return g.sendTo(c, g.options.LoginPath, form)
		}
		if p.MustSetUp && !g.options.SetsUp(c.Path()) {
			return g.toSetUp(c)
		}
		if slices.Contains(roles, p.Role) {
			return c.Next()
		}
		return g.admitStanding(c, p, least)
	}
}

// toSetUp responds to a user who must set up a second factor first. The page of
// the setup leads back to the page of the request.
func (g *Guards) toSetUp(c *fiber.Ctx) error {
	switch {
	case isAPI(c):
		return fault.Forbidden("Set up a second factor first: open %s in a browser.", g.options.SetUpPath)
	case c.Get(headerConfirm) != "":
		return c.SendStatus(fiber.StatusNoContent) // the form itself is redirected
	}
	return g.sendTo(c, g.options.SetUpPath, keptForm{})
}

// sendTo redirects to a page that leads back here, with the token of the stored
// form, if any, or that it was too large to be stored. htmx would follow a redirect and show the target inside the
// current page, so it gets HX-Redirect instead.
func (g *Guards) sendTo(c *fiber.Ctx, path string, form keptForm) error {
	q := url.Values{}
	if next := LocalPath(g.pageOf(c), ""); next != "" {
		q.Set("next", next)
	}
	if form.token != "" {
		q.Set("form", form.token)
	}
	if form.large {
		q.Set("large", "1")
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return redirect(c, path)
}

// redirect redirects to a page of the gateway.
func redirect(c *fiber.Ctx, path string) error {
	if c.Get("HX-Request") != "" {
		c.Set("HX-Redirect", path)
		return c.SendStatus(fiber.StatusOK)
	}
	return c.Redirect(path, fiber.StatusSeeOther)
}

// isAPI reports whether the request is for the API, where programs get JSON
// instead of redirects.
func isAPI(c *fiber.Ctx) bool { return strings.HasPrefix(c.Path(), "/api/") }

// LocalPath returns next if it is a path of this gateway, or fallback. It
// rejects external addresses in any spelling.
func LocalPath(next, fallback string) string {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }) {
		return fallback
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, `\`) {
		return fallback
	}
	return next
}

// SetSession sets the cookie of a new or renewed session.
func (g *Guards) SetSession(c *fiber.Ctx, value string) {
	g.setCookie(c, g.sessionName(), value, sessionCookieAge)
}

// ClearSession deletes the session's cookie.
func (g *Guards) ClearSession(c *fiber.Ctx) { g.setCookie(c, g.sessionName(), "", -1) }

// SessionCookie returns the value of the session's cookie, or "".
func (g *Guards) SessionCookie(c *fiber.Ctx) string { return c.Cookies(g.sessionName()) }

// SetDevice sets the cookie that identifies the browser at the next sign-in.
func (g *Guards) SetDevice(c *fiber.Ctx, value string) {
	g.setCookie(c, g.deviceName(), value, deviceCookieAge)
}

// DeviceCookie returns the value of the cookie that SetDevice set, or "".
func (g *Guards) DeviceCookie(c *fiber.Ctx) string { return c.Cookies(g.deviceName()) }

// HasSession reports whether a request has a session cookie, which may be
// invalid.
func (g *Guards) HasSession(h *fasthttp.RequestHeader) bool {
	return len(h.Cookie(g.sessionName())) > 0
}

// SetFlow sets the cookie that binds a single sign-on to the browser.
func (g *Guards) SetFlow(c *fiber.Ctx, value string) {
	g.setCookie(c, g.flowName(), value, flowCookieAge)
}

// SetSecondStep sets the cookie between the password and the second factor.
func (g *Guards) SetSecondStep(c *fiber.Ctx, value string) {
	g.setCookie(c, g.secondStepName(), value, secondStepAge)
}

// ClearSecondStep deletes the cookie that SetSecondStep set.
func (g *Guards) ClearSecondStep(c *fiber.Ctx) { g.setCookie(c, g.secondStepName(), "", -1) }

// SecondStepCookie returns the value of the cookie that SetSecondStep set, or "".
func (g *Guards) SecondStepCookie(c *fiber.Ctx) string { return c.Cookies(g.secondStepName()) }

// TakeFlow returns the value of the cookie that SetFlow set, or "", and deletes
// the cookie.
func (g *Guards) TakeFlow(c *fiber.Ctx) string {
	value := c.Cookies(g.flowName())
	g.setCookie(c, g.flowName(), "", -1)
	return value
}

// The __Host- prefix prevents other hosts of the domain from setting the
// cookie. Browsers accept it only on https (RFC 6265bis, section 4.1.3.2).
func (g *Guards) sessionName() string { return g.prefix() + "sid" }

func (g *Guards) deviceName() string { return g.prefix() + "device" }

func (g *Guards) secondStepName() string { return g.prefix() + "step" }

func (g *Guards) flowName() string { return g.prefix() + "sso" }

func (g *Guards) prefix() string {
	if g.secure {
		return "__Host-"
	}
	return ""
}

// setCookie sets a cookie with the maximum age. A negative age deletes it.
func (g *Guards) setCookie(c *fiber.Ctx, name, value string, age time.Duration) {
	cookie := &fiber.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(age.Seconds()), Secure: g.secure, HTTPOnly: true, SameSite: fiber.CookieSameSiteLaxMode}
	if age < 0 {
		cookie.MaxAge, cookie.Expires = 0, time.Unix(1, 0)
	}
	c.Cookie(cookie)
	c.Set(fiber.HeaderCacheControl, "no-store")
}
