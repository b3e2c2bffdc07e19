// Package guard decides who may use a route: browser sessions and their cookies,
// the administration token, protection against cross-site requests, step-up, and
// forms that are kept until their user has signed in or confirmed who they are.
package guard

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
)

// The roles of people, as a session names them.
const (
	RoleAdmin  = "admin"
	RoleViewer = "viewer"
	RoleMember = "member"
)

// How long a browser keeps the cookies; the server ends sessions sooner.
const (
	sessionCookieAge = 14 * 24 * time.Hour
	deviceCookieAge  = 180 * 24 * time.Hour
	flowCookieAge    = 10 * time.Minute
)

// maxNext is the longest local path to come back to, in bytes.
const maxNext = 2048

// Person is who is signed in with the browser of a request.
type Person struct {
	ID, Name, Email string
	Role            string
	SessionID       string    // stays when the cookie's value is renewed
	CSRF            string    // what the forms of this session carry in the field csrf, masked by MaskToken
	ConfirmedUntil  time.Time // when the last proof of who they are no longer allows changing secrets
}

// Sessions finds the person of a session cookie's value. No such session is
// nil without an error.
type Sessions interface {
	// Person returns the person of a live session. active is false for
	// requests that an open page makes without its user.
	Person(ctx context.Context, cookie string, active bool) (*Person, error)
	// Expired returns the person of a session that ended by its age.
	Expired(ctx context.Context, cookie string) (*Person, error)
}

// TokenChecker knows one bearer token.
type TokenChecker interface{ Matches(token string) bool }

// Actor is who acts in a request, as the audit log records it.
type Actor struct {
	Kind      string // user, token or client
	ID, Name  string
	IP        string
	RequestID string
}

// Act returns a context whose changes are recorded as the actor's.
type Act func(ctx context.Context, a Actor) context.Context

// Options say how guards know people and programs.
type Options struct {
	Sessions   Sessions
	Token      TokenChecker
	Failures   *ratelimit.FailureLimit // of wrong administration tokens
	PublicURL  *url.URL
	NeedStepUp func(confirmedUntil time.Time) error // nil while the person's proof is good
	Act        Act
	// Denied is told that somebody who is known may not use a route, which is
	// given as its method and pattern; nil is told nothing.
	Denied     func(ctx context.Context, route, role string)
	LoginPath  string                 // where people sign in
	StepUpPath string                 // where they prove again who they are
	Forms      FormKeeper             // of forms that have to wait for either; nil keeps none
	KeepsForm  func(path string) bool // reports whether a form posted to the path is kept
}

// Guards are the handlers before those of a route. They say who may use it;
// each returns the whole chain for one kind of route.
type Guards struct {
	options Options
	origin  string
	secure  bool
}

// New returns the guards.
func New(o Options) *Guards {
	return &Guards{options: o, origin: web.OriginOf(o.PublicURL), secure: o.PublicURL.Scheme == "https"}
}

// Visitor admits everybody and knows who is signed in, for public pages, and
// for signing in: what is posted must come from our own pages, and needs no
// token because there is no session yet.
func (g *Guards) Visitor() []fiber.Handler {
	return []fiber.Handler{g.know, g.checkOwnPages}
}

// Signed admits everybody who is signed in, whatever their role. What they
// send other than GET and HEAD needs the session's token.
func (g *Guards) Signed() []fiber.Handler {
	return []fiber.Handler{g.know, g.need(RoleAdmin, RoleViewer, RoleMember), g.checkForgery}
}

// Viewer admits who may read the administration: administrators, viewers, and
// on the API the administration token.
func (g *Guards) Viewer() []fiber.Handler {
	return []fiber.Handler{g.know, g.need(RoleAdmin, RoleViewer), g.checkForgery}
}

// Admin admits who may change everything: administrators, with the session's
// token for what is not GET or HEAD, and on the API the administration token.
func (g *Guards) Admin() []fiber.Handler {
	return []fiber.Handler{g.know, g.need(RoleAdmin), g.checkForgery}
}

// Careful stands behind Admin or Signed on routes that change secrets: it
// admits people who proved who they are lately, and sends the others to do so.
// Automation with the administration token passes.
func (g *Guards) Careful(c *fiber.Ctx) error {
	if ok, err := g.StepUp(c); !ok {
		return err
	}
	return c.Next()
}

// StepUp reports whether the request may change secrets, as Careful does. If
// not, it has sent the response unless it returns an error: the form is kept and
// carried out when its user has confirmed who they are.
func (g *Guards) StepUp(c *fiber.Ctx) (ok bool, err error) {
	p := PersonOf(c)
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
	form, err := g.keep(c, p)
	if err != nil {
		return false, err
	}
	return false, g.sendTo(c, g.options.StepUpPath, form)
}

// headerBackground marks requests that a page makes without its user.
const headerBackground = "X-Background"

// Keys of what guards leave in a request.
const (
	personKey = "person"
	tokenKey  = "token"
)

// PersonOf returns who is signed in, or nil: nobody, a program with the
// administration token, or a route without a guard that looks.
func PersonOf(c *fiber.Ctx) *Person {
	p, _ := c.Locals(personKey).(*Person)
	return p
}

// know finds out who makes the request, once. On the API a bearer token decides
// alone, and the cookie is ignored. Any other
// Authorization header is a proxy's and is ignored.
func (g *Guards) know(c *fiber.Ctx) error {
	if err := g.Identify(c); err != nil {
		return err
	}
	return c.Next()
}

// Identify finds out who makes the request, as every guard does, for requests
// that no guard has seen.
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
		p, err := g.options.Sessions.Person(c.UserContext(), c.Cookies(g.sessionName()), c.Get(headerBackground) == "")
		if err != nil {
			return err
		}
		if p != nil {
			c.Locals(personKey, p)
			if !isAPI(c) {
				web.AllowErrorPage(c)
			}
			actor.Kind, actor.ID, actor.Name = "user", p.ID, p.Email
		}
	}
	c.SetUserContext(g.options.Act(c.UserContext(), actor))
	c.Vary(fiber.HeaderCookie)
	return nil
}

// checkToken notes in the request that it presents the administration token. It
// returns RATE_LIMITED for an address that presents wrong ones again and again;
// the right one passes all the same, because programs share addresses.
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

// need admits people of the roles, and the administration token.
func (g *Guards) need(roles ...string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "no-store") // a handler may say otherwise
		if c.Locals(tokenKey) != nil {
			return c.Next()
		}
		p := PersonOf(c)
		if p == nil && isAPI(c) {
			c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="gateway administration"`)
			return fault.Unauthorized()
		}
		if p == nil {
			form, err := g.keepExpired(c)
			if err != nil {
				return err
			}
			return g.sendTo(c, g.options.LoginPath, form)
		}
		for _, role := range roles {
			if p.Role == role {
				return c.Next()
			}
		}
		if g.options.Denied != nil {
			g.options.Denied(c.UserContext(), c.Method()+" "+web.EventOf(c).Route, p.Role)
		}
		return forbiddenRole(p.Role)
	}
}

// forbiddenRole returns the fault for a person whose role may not use a route.
func forbiddenRole(role string) error {
	if role == RoleViewer {
		return fault.Forbidden("Viewers can look, not change. Ask an administrator")
	}
	return fault.Forbidden("Members can't use this page. Ask an administrator")
}

// sendTo redirects to a page that leads back here, with the token of the form
// that is kept, if any. htmx follows redirects itself and would show the page
// inside this one, so it gets HX-Redirect instead.
func (g *Guards) sendTo(c *fiber.Ctx, path, form string) error {
	q := url.Values{}
	if next := LocalPath(g.pageOf(c), ""); next != "" {
		q.Set("next", next)
	}
	if form != "" {
		q.Set("form", form)
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	if c.Get("HX-Request") != "" {
		c.Set("HX-Redirect", path)
		return c.SendStatus(fiber.StatusOK)
	}
	return c.Redirect(path, fiber.StatusSeeOther)
}

// isAPI reports whether the request is for programs, who get JSON where people
// are led to a page.
func isAPI(c *fiber.Ctx) bool { return strings.HasPrefix(c.Path(), "/api/") }

// LocalPath returns next when it is a path of this gateway, else fallback: no
// address elsewhere, however it is spelt.
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

// SetSession gives the browser the cookie of a session that just began or was
// renewed.
func (g *Guards) SetSession(c *fiber.Ctx, value string) {
	g.setCookie(c, g.sessionName(), value, sessionCookieAge)
}

// ClearSession takes the session's cookie away.
func (g *Guards) ClearSession(c *fiber.Ctx) { g.setCookie(c, g.sessionName(), "", -1) }

// SessionCookie returns the value of the session's cookie, or "".
func (g *Guards) SessionCookie(c *fiber.Ctx) string { return c.Cookies(g.sessionName()) }

// SetDevice sets the cookie by which the browser is known at the next sign-in.
func (g *Guards) SetDevice(c *fiber.Ctx, value string) {
	g.setCookie(c, g.deviceName(), value, deviceCookieAge)
}

// DeviceCookie returns the value of the cookie that SetDevice set, or "".
func (g *Guards) DeviceCookie(c *fiber.Ctx) string { return c.Cookies(g.deviceName()) }

// HasSession reports whether a request carries a session's cookie, which may
// be of no live session.
func (g *Guards) HasSession(h *fasthttp.RequestHeader) bool {
	return len(h.Cookie(g.sessionName())) > 0
}

// SetFlow gives the browser the cookie that binds a sign-in by the identity
// provider to it.
func (g *Guards) SetFlow(c *fiber.Ctx, value string) {
	g.setCookie(c, g.flowName(), value, flowCookieAge)
}

// TakeFlow returns the value of the cookie that SetFlow set, or "", and takes
// the cookie away.
func (g *Guards) TakeFlow(c *fiber.Ctx) string {
	value := c.Cookies(g.flowName())
	g.setCookie(c, g.flowName(), "", -1)
	return value
}

// The prefix keeps other hosts of the domain from setting the cookie; browsers
// take it with https only (RFC 6265bis, section 4.1.3.2).
func (g *Guards) sessionName() string { return g.prefix() + "sid" }

func (g *Guards) deviceName() string { return g.prefix() + "device" }

func (g *Guards) flowName() string { return g.prefix() + "sso" }

func (g *Guards) prefix() string {
	if g.secure {
		return "__Host-"
	}
	return ""
}

// setCookie sets a cookie for so long; a negative time deletes it.
func (g *Guards) setCookie(c *fiber.Ctx, name, value string, age time.Duration) {
	cookie := &fiber.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(age.Seconds()), Secure: g.secure, HTTPOnly: true, SameSite: fiber.CookieSameSiteLaxMode}
	if age < 0 {
		cookie.MaxAge, cookie.Expires = 0, time.Unix(1, 0)
	}
	c.Cookie(cookie)
	c.Set(fiber.HeaderCacheControl, "no-store")
}
