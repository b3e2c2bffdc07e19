package guard_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
	"mcpgateway/web/guard"
	"mcpgateway/web/ratelimit"
	"mcpgateway/web/webtest"
)

const adminToken = "administration-token"

// people are users by the value of their session cookie; "broken" fails.
type people map[string]*guard.User

func (p people) User(_ context.Context, cookie string, _ bool) (*guard.User, error) {
	if cookie == "broken" {
		return nil, errors.New("database down")
	}
	return p[cookie], nil
}

func (p people) Expired(_ context.Context, cookie string) (*guard.User, error) {
	return p["expired "+cookie], nil
}

type oneToken struct{}

func (oneToken) Matches(given string) bool { return given == adminToken }

type actorKey struct{}

func newGuards(t *testing.T, public string) *guard.Guards {
	t.Helper()
	u, err := url.Parse(public)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	person := func(role string) *guard.User {
		return &guard.User{ID: role + "-id", Email: role + "@example.com", Role: role, CSRF: "csrf-of-" + role, ConfirmedUntil: now.Add(time.Minute)}
	}
	stale := person(guard.RoleAdmin)
	stale.ConfirmedUntil = now.Add(-time.Hour)
	return guard.New(guard.Options{
		Sessions:  people{"admin": person(guard.RoleAdmin), "viewer": person(guard.RoleViewer), "member": person(guard.RoleMember), "stale": stale},
		Token:     oneToken{},
		Failures:  ratelimit.NewFailureLimit(time.Now),
		PublicURL: u,
		NeedStepUp: func(at time.Time) error {
			if now.After(at) {
				return fault.New(fault.KindForbidden, fault.CodeStepUpRequired, "prove it")
			}
			return nil
		},
		Act:       func(ctx context.Context, a guard.Actor) context.Context { return context.WithValue(ctx, actorKey{}, a) },
		LoginPath: "/login", StepUpPath: "/login/again",
	})
}

// guarded returns an application with one path for each kind of guard, on pages
// and on the API. It responds with the identified user.
func guarded(t *testing.T) *fiber.App {
	t.Helper()
	app, _ := webtest.NewApp(t)
	g := newGuards(t, "https://gateway.example")
	say := func(c *fiber.Ctx) error {
		who := "nobody"
		if p := guard.UserOf(c); p != nil {
			who = p.Role
		}
		a, _ := c.UserContext().Value(actorKey{}).(guard.Actor)
		return c.SendString(who + " as " + a.Kind + " " + a.ID + " from " + a.IP)
	}
	for kind, chain := range map[string][]fiber.Handler{
		"visitor": g.Visitor(), "signed": g.Signed(), "viewer": g.Viewer(), "admin": g.Admin(), "careful": append(g.Admin(), g.RequireStepUp),
	} {
		for _, prefix := range []string{"/", "/api/"} {
			app.All(prefix+kind, append(chain[:len(chain):len(chain)], say)...)
		}
	}
	return app
}

func TestGuardsByRole(t *testing.T) {
	app := guarded(t)
	page, api := "303", "401"
	want := map[string]map[string]string{
		//            visitor         member   viewer   admin    stale    token on the API
		"visitor": {"": "200", "member": "200", "viewer": "200", "admin": "200", "stale": "200", "token": "200"},
		"signed":  {"": "login", "member": "200", "viewer": "200", "admin": "200", "stale": "200", "token": "200"},
		"viewer":  {"": "login", "member": "403", "viewer": "200", "admin": "200", "stale": "200", "token": "200"},
		"admin":   {"": "login", "member": "403", "viewer": "403", "admin": "200", "stale": "200", "token": "200"},
		"careful": {"": "login", "member": "403", "viewer": "403", "admin": "200", "stale": "again", "token": "200"},
	}
	status := func(c webtest.Case) string {
		return http.StatusText(webtest.Send(t, app, c).Status)
	}
	text := map[string]string{"200": "OK", "401": "Unauthorized", "403": "Forbidden", "303": "See Other"}
	for kind, row := range want {
		for who, outcome := range row {
			for _, method := range []string{"GET", "POST"} {
				header := map[string]string{"Sec-Fetch-Site": "same-origin"}
				switch who {
				case "", "token":
				default:
					header["Cookie"] = "__Host-sid=" + who
					header[guard.CSRFHeader] = guard.MaskToken("csrf-of-" + strings.Replace(who, "stale", "admin", 1))
				}
				onPage, onAPI := outcome, outcome
				switch {
				case outcome == "login":
					onPage, onAPI = page, api
				case outcome == "again":
					onPage, onAPI = page, "403"
				case who == "token" && kind != "visitor":
					onPage = page // the token works on the API only
				}
				if who == "token" {
					header["Authorization"] = "bearer " + adminToken
				}
				if got := status(webtest.Case{Method: method, Path: "/" + kind, Header: header}); got != text[onPage] {
					t.Errorf("%s /%s as %q: %s, want %s", method, kind, who, got, text[onPage])
				}
				if got := status(webtest.Case{Method: method, Path: "/api/" + kind, Header: header}); got != text[onAPI] {
					t.Errorf("%s /api/%s as %q: %s, want %s", method, kind, who, got, text[onAPI])
				}
			}
		}
	}
}

func TestGuardsRedirectToSignIn(t *testing.T) {
	webtest.Run(t, guarded(t), []webtest.Case{
		{Name: "page", Path: "/admin?tab=keys", Status: 303, WantHeader: map[string]string{"Location": "/login?next=%2Fadmin%3Ftab%3Dkeys", "Cache-Control": "no-store"}},
		{Name: "form", Method: "POST", Path: "/admin", Status: 303, WantHeader: map[string]string{"Location": "/login"}},
		{Name: "stale confirmation", Path: "/careful", Header: map[string]string{"Cookie": "__Host-sid=stale"}, Status: 303, WantHeader: map[string]string{"Location": "/login/again?next=%2Fcareful"}},
		{Name: "API", Path: "/api/admin", Status: 401, WantHeader: map[string]string{"WWW-Authenticate": `Bearer realm="gateway administration"`}, WantBody: []string{"UNAUTHORIZED"}},
		{Name: "API, step-up", Path: "/api/careful", Header: map[string]string{"Cookie": "__Host-sid=stale"}, Status: 403, WantBody: []string{"STEP_UP_REQUIRED"}},
		{Name: "htmx", Method: "POST", Path: "/admin", Header: map[string]string{"HX-Request": "true", "HX-Current-URL": "https://gateway.example/admin/projects?x=1"}, Status: 200,
			WantHeader: map[string]string{"HX-Redirect": "/login?next=%2Fadmin%2Fprojects%3Fx%3D1", "Location": ""}},
		{Name: "another role", Path: "/admin", Header: map[string]string{"Cookie": "__Host-sid=viewer", "Accept": "text/html"}, Status: 403, WantBody: []string{"Viewers can look, not change."}},
		{Name: "failed session lookup", Path: "/visitor", Header: map[string]string{"Cookie": "__Host-sid=broken"}, Status: 500, NotBody: []string{"database"}},
		{Name: "unknown cookie", Path: "/api/signed", Header: map[string]string{"Cookie": "__Host-sid=x"}, Status: 401},
		{Name: "cookie name of http", Path: "/api/signed", Header: map[string]string{"Cookie": "sid=admin"}, Status: 401},
	})
}

func TestBearerTokenOverridesCookie(t *testing.T) {
	for _, authorization := range []string{"Bearer wrong", "Bearer", "bearer x", "Bearer " + adminToken + "x"} {
		header := map[string]string{"Cookie": "__Host-sid=admin", "Authorization": authorization}
		webtest.Run(t, guarded(t), []webtest.Case{
			{Name: authorization, Path: "/api/admin", Header: header, Status: 401},
			{Name: authorization + " on a page", Path: "/admin", Header: header, Status: 200, WantBody: []string{"admin as user admin-id"}},
		})
	}
	// The token needs no CSRF protection, and the cookie is ignored.
	webtest.Run(t, guarded(t), []webtest.Case{{
		Name: "token", Method: "POST", Path: "/api/admin", Header: map[string]string{"Cookie": "__Host-sid=viewer", "Authorization": "Bearer " + adminToken, "Sec-Fetch-Site": "cross-site"},
		Status: 200, WantBody: []string{"nobody as token "},
	}})
}

func TestCookieUsedWithProxyCredentials(t *testing.T) {
	for _, authorization := range []string{"Basic dXNlcjpwYXNz", "Basic x", "Negotiate YII=", "Digest username=x", "x"} {
		header := func(cookie string) map[string]string {
			return map[string]string{"Cookie": cookie, "Authorization": authorization, "Sec-Fetch-Site": "same-origin"}
		}
		webtest.Run(t, guarded(t), []webtest.Case{
			{Name: authorization, Path: "/api/admin", Header: header("__Host-sid=admin"), Status: 200, WantBody: []string{"admin as user admin-id"}},
			{Name: authorization + " on a page", Path: "/admin", Header: header("__Host-sid=admin"), Status: 200, WantBody: []string{"admin as user admin-id"}},
			{Name: authorization + " without the form's token", Method: "POST", Path: "/api/admin", Header: header("__Host-sid=admin"), Status: 403},
			{Name: authorization + " of a viewer", Path: "/api/admin", Header: header("__Host-sid=viewer"), Status: 403},
			{Name: authorization + " without a session", Path: "/api/admin", Header: header(""), Status: 401},
			{Name: authorization + " without a session on a page", Path: "/admin", Header: header(""), Status: 303},
		})
	}
}

func TestChangesAttributedToActor(t *testing.T) {
	webtest.Run(t, guarded(t), []webtest.Case{
		{Name: "user", Path: "/admin", Header: map[string]string{"Cookie": "__Host-sid=admin"}, WantBody: []string{"admin as user admin-id from 0.0.0.0"}},
		{Name: "program", Path: "/api/admin", Header: map[string]string{"Authorization": "Bearer " + adminToken}, WantBody: []string{"nobody as token  from 0.0.0.0"}},
		{Name: "visitor", Path: "/visitor", WantBody: []string{"nobody as client  from 0.0.0.0"}},
	})
}

func TestSessionCookies(t *testing.T) {
	for public, want := range map[string][]string{
		"https://gateway.example": {
			"__Host-sid=value; max-age=1209600; path=/; HttpOnly; secure; SameSite=Lax", "__Host-sid=; expires=Thu, 01 Jan 1970 00:00:01 GMT; path=/; HttpOnly; secure; SameSite=Lax",
			"__Host-sso=flow; max-age=600; path=/; HttpOnly; secure; SameSite=Lax", "__Host-sso=; expires=Thu, 01 Jan 1970 00:00:01 GMT; path=/; HttpOnly; secure; SameSite=Lax",
		},
		"http://127.0.0.1:8080": {
			"sid=value; max-age=1209600; path=/; HttpOnly; SameSite=Lax", "sid=; expires=Thu, 01 Jan 1970 00:00:01 GMT; path=/; HttpOnly; SameSite=Lax",
			"sso=flow; max-age=600; path=/; HttpOnly; SameSite=Lax", "sso=; expires=Thu, 01 Jan 1970 00:00:01 GMT; path=/; HttpOnly; SameSite=Lax",
		},
	} {
		g := newGuards(t, public)
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		app.Get("/in", func(c *fiber.Ctx) error { g.SetSession(c, "value"); return nil })
		app.Get("/out", func(c *fiber.Ctx) error { g.ClearSession(c); return c.SendString(g.SessionCookie(c)) })
		app.Get("/flow", func(c *fiber.Ctx) error { g.SetFlow(c, "flow"); return nil })
		app.Get("/back", func(c *fiber.Ctx) error { return c.SendString(g.TakeFlow(c)) })
		var got []string
		for _, path := range []string{"/in", "/out", "/flow", "/back"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Cookie", "__Host-sid=1; sid=2; __Host-sso=1; sso=2")
			resp, err := app.Test(r, -1)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s is cacheable", path)
			}
			got = append(got, resp.Header.Values("Set-Cookie")...)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", public, d)
		}
	}
}

func TestRedirectOnlyToLocalPaths(t *testing.T) {
	for next, ok := range map[string]bool{
		"/": true, "/admin": true, "/admin/projects/x?tab=keys&a=%2F#top": true, "/a//b": true, "/oauth/authorize?redirect_uri=https%3A%2F%2Fx": true, "/a?u=http://x": true,
		"/" + strings.Repeat("a", 2046): true, "/" + strings.Repeat("a", 2047): true, "/" + strings.Repeat("a", 2048): false,
		"": false, "admin": false, "//evil.example": false, "///evil.example": false, `/\evil.example`: false, `\\evil.example`: false, "https://evil.example": false, "javascript:alert(1)": false,
		"/\t/evil.example": false, "/ x": false, "/\r\nSet-Cookie: x": false, "/%2F/evil.example": false, "/%5Cevil.example": false, "/\u00a0": false, "/%": false,
	} {
		want := "/fallback"
		if ok {
			want = next
		}
		if got := guard.LocalPath(next, "/fallback"); got != want {
			t.Errorf("redirect of %q = %q", next, got)
		}
	}
}
