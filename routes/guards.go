package routes

import (
	"context"
	"net/url"
	"strings"
	"time"

	"mcpgateway/services/access/keys"
	"mcpgateway/web/guard"
	"mcpgateway/web/ratelimit"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// audience says who may use a route.
type audience string

const (
	open    audience = "open"    // anybody, and nobody's sign-in is looked at
	project audience = "project" // whom the project's authMode admits; checked by the handler
	catalog audience = "catalog" // anybody, pages of other origins included; so many requests per address
	browse  audience = "browse"  // as visitor; so many requests per address
	visitor audience = "visitor" // anybody; the page knows who is signed in
	person  audience = "person"  // anybody who is signed in
	viewer  audience = "viewer"  // who may read the administration, or on the API its token
	admin   audience = "admin"   // who may change everything, or on the API its token
	careful audience = "careful" // as admin, by somebody who proved lately who they are
)

// How often one address may ask for the public catalog (contract, "Limits").
const (
	publicPerSecond = 20
	publicBurst     = 100
)

// How often one address may present wrong keys before it gets RATE_LIMITED.
const (
	wrongKeysPerSecond = 1
	wrongKeysBurst     = 100
)

// newGuards returns the guards and the handlers that stand before a route of
// each kind.
func newGuards(s *services.Services) (*guard.Guards, map[audience][]fiber.Handler) {
	g := guard.New(guard.Options{
		Sessions: sessions{s.People}, Token: keys.NewAdminToken(s.Config.AdminToken), Failures: ratelimit.NewFailureLimit(time.Now), PublicURL: s.Config.PublicURL,
		NeedStepUp: s.People.NeedStepUp, Act: act, Denied: s.Denials.Record, LoginPath: paths.Login, StepUpPath: paths.StepUp,
		Forms: forms{s.KeptForms}, KeepsForm: keepsForm,
	})
	perAddress := ratelimit.NewAddressLimit(publicPerSecond, publicBurst, time.Now).Handler
	return g, map[audience][]fiber.Handler{
		open: nil, project: nil, catalog: {web.PublicCORS, perAddress}, browse: append([]fiber.Handler{perAddress}, g.Visitor()...),
		visitor: g.Visitor(), person: g.Signed(), viewer: g.Viewer(), admin: g.Admin(), careful: append(g.Admin(), g.Careful),
	}
}

// sessions lets web find out who is signed in.
type sessions struct{ people *access.People }

// Person returns the person of a session cookie's value; nil is nobody.
func (s sessions) Person(ctx context.Context, cookie string, active bool) (*guard.Person, error) {
	if !active {
		return personOf(s.people.WatchingSession(ctx, cookie))
	}
	return personOf(s.people.Session(ctx, cookie))
}

// Expired returns the person of a session that ended by its age.
func (s sessions) Expired(ctx context.Context, cookie string) (*guard.Person, error) {
	return personOf(s.people.ExpiredSession(ctx, cookie))
}

func personOf(info access.SessionInfo, err error) (*guard.Person, error) {
	if fault.Is(err, fault.CodeUnauthorized) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := info.Person
	return &guard.Person{
		ID: p.ID, Name: p.Name, Email: p.Email, Role: string(p.Role), SessionID: info.ID, CSRF: info.CSRF, ConfirmedUntil: info.ConfirmedUntil,
	}, nil
}

// forms stores forms that wait for their users.
type forms struct{ kept *access.KeptForms }

// Keep stores a form of a person's session.
func (f forms) Keep(ctx context.Context, p *guard.Person, form guard.Form) (string, error) {
	return f.kept.Keep(ctx, p.ID, p.SessionID, access.KeptForm(form))
}

// keepsForm reports whether a form posted to the path waits for its user to
// sign in again: those of the administration and of connected apps. A consent
// is bound to the session that it began in.
func keepsForm(path string) bool {
	return strings.HasPrefix(path, "/admin/") || strings.HasPrefix(path, "/oauth/grants/")
}

// act records what a request changes as its actor's.
func act(ctx context.Context, a guard.Actor) context.Context {
	return activity.WithActor(ctx, activity.Actor{Kind: activity.ActorKind(a.Kind), ID: a.ID, Name: a.Name, IP: a.IP, RequestID: a.RequestID})
}

// identityProvider returns what the identity provider is called: "" when single
// sign-on is not configured.
func identityProvider(s *services.Services) string {
	if s.SingleSignOn == nil {
		return ""
	}
	issuer, err := url.Parse(s.Config.SingleSignOn.Issuer)
	if err != nil || issuer.Hostname() == "" {
		return "single sign-on"
	}
	return issuer.Hostname()
}

// closed admits nobody.
func closed(*fiber.Ctx) error { return fault.Forbidden("nobody may use this") }
