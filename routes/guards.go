package routes

import (
	"context"
	"net/url"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/access/storedforms"
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

// audience is the set of clients that may use a route.
type audience string

const (
	open    audience = "open"    // everyone; users are not identified
	project audience = "project" // clients that the project's authMode allows; checked by the handler
	catalog audience = "catalog" // everyone, including pages of other origins; rate-limited per address
	browse  audience = "browse"  // as visitor; rate-limited per address
	visitor audience = "visitor" // everyone; signed-in users are identified
	person  audience = "person"  // signed-in users
	// own is person without the administration token, which has no account.
	own       audience = "own"
	ownStepUp audience = "own careful" // as own, with a recently confirmed password
	viewer    audience = "viewer"      // viewers and administrators; on the API also the administration token
	admin     audience = "admin"       // administrators; on the API also the administration token
	stepUp    audience = "careful"     // as admin, with a recently confirmed password

	// Maintainers of the project that the route names, in addition to viewer,
	// admin and stepUp.
	projectViewer audience = "project viewer"
	maintainer    audience = "maintainer"
	carefulOne    audience = "careful maintainer"
	// The maintainers of any project, in addition to viewer and admin. The handlers
	// leave out other projects.
	someViewer audience = "some viewer"
	someAdmin  audience = "some admin"
)

// Rate limits of the public catalog per address.
const (
	publicPerSecond = 20
	publicBurst     = 100
)

// Limits of wrong keys from one address before it gets RATE_LIMITED.
const (
	wrongKeysPerSecond = 1
	wrongKeysBurst     = 100
)

// newGuards returns the guards, and the handlers that precede the routes of
// each audience.
func newGuards(s *services.Services) (*guard.Guards, map[audience][]fiber.Handler) {
	g := guard.New(guard.Options{
		Sessions: sessions{s.People, s.Factors}, Token: keys.NewAdminToken(s.Config.AdminToken), Failures: ratelimit.NewFailureLimit(time.Now), PublicURL: s.Config.PublicURL,
		NeedStepUp: s.People.NeedStepUp, Act: actAs(s.Rights), Denied: s.Denials.Record, LoginPath: paths.Login, StepUpPath: paths.StepUp, SetUpPath: paths.Security, SetsUp: setsUp,
		Forms: forms{s.KeptForms}, KeepsForm: keepsForm, Standing: standings{s}.of,
	})
	perAddress := ratelimit.NewAddressLimit(publicPerSecond, publicBurst, time.Now).Handler
	return g, map[audience][]fiber.Handler{
		open: nil, project: nil, catalog: {web.PublicCORS, perAddress}, browse: append([]fiber.Handler{perAddress}, g.Visitor()...),
		visitor: g.Visitor(), person: g.Signed(), own: g.Session(), ownStepUp: append(g.Session(), g.RequireStepUp), viewer: g.Viewer(), admin: g.Admin(), stepUp: append(g.Admin(), g.RequireStepUp),
		projectViewer: g.ProjectViewer(), maintainer: g.ProjectAdmin(), carefulOne: append(g.ProjectAdmin(), g.RequireStepUp),
		someViewer: g.SomeViewer(), someAdmin: g.SomeAdmin(),
	}
}

// sessions finds the users of session cookies. It implements guard.Sessions.
type sessions struct {
	people  *access.Users
	factors *factors.Store
}

// Person returns the user of a session cookie, or nil.
func (s sessions) User(ctx context.Context, cookie string, active bool) (*guard.User, error) {
	find := s.people.Session
	if !active {
		find = s.people.WatchingSession
	}
	info, err := find(ctx, cookie)
	user, err := personOf(info, err)
	if user != nil {
		user.MustSetUp, err = s.factors.MustSetUp(ctx, user.ID, info.Person.EffectiveRole, info.Person.HasPassword)
	}
	return user, err
}

// setsUp reports whether users who must set up a second factor may use the path.
func setsUp(path string) bool {
	return path == paths.Security || strings.HasPrefix(path, paths.Security+"/") || path == paths.StepUp || path == paths.Logout
}

// Expired returns the user of a session that expired because of its age.
func (s sessions) Expired(ctx context.Context, cookie string) (*guard.User, error) {
	return personOf(s.people.ExpiredSession(ctx, cookie))
}

func personOf(info access.SessionInfo, err error) (*guard.User, error) {
	if fault.Is(err, fault.CodeUnauthorized) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := info.Person
	return &guard.User{
		ID: p.ID, Name: p.Name, Email: p.Email, Role: string(p.EffectiveRole), SessionID: info.ID, CSRF: info.CSRF, ConfirmedUntil: info.ConfirmedUntil, GroupsOverage: p.GroupsOverage,
	}, nil
}

// forms stores forms until their users have signed in. It implements
// guard.FormKeeper.
type forms struct{ kept *storedforms.Store }

// Keep stores a form of the user's session.
func (f forms) Keep(ctx context.Context, p *guard.User, form guard.Form) (string, error) {
	return f.kept.Keep(ctx, p.ID, p.SessionID, storedforms.Form(form))
}

// keepsForm reports whether a form posted to the path is stored while its user
// signs in again. This applies to forms of the administration and of the user's
// own pages. A consent is bound to the session that it started in.
func keepsForm(path string) bool {
	return strings.HasPrefix(path, "/admin/") || strings.HasPrefix(path, paths.Me+"/")
}

// actAs returns the function that attributes the changes of a request to its
// actor in the audit log, and limits the request to the actor's reach.
func actAs(held reach.Rights) guard.Act {
	return func(ctx context.Context, a guard.Actor) context.Context {
		ctx = activity.WithActor(ctx, activity.Actor{Kind: activity.ActorKind(a.Kind), ID: a.ID, Name: a.Name, IP: a.IP, RequestID: a.RequestID})
		switch activity.ActorKind(a.Kind) {
		case activity.ActorUser:
			return reach.With(ctx, reach.OfPerson(a.ID, models.Role(a.Role), held))
		case activity.ActorToken:
			return reach.With(ctx, reach.Everything())
		default:
			return reach.With(ctx, reach.Reach{})
		}
	}
}

// identityProvider returns the display name of the identity provider, or "" if
// single sign-on is not configured.
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

// denyAll rejects every request.
func denyAll(*fiber.Ctx) error { return fault.Forbidden("This page is not available.") }
