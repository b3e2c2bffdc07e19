package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
	"mcpgateway/web/guard"
)

// caller is a client that requests every route.
type caller struct {
	name   string
	role   models.Role // role of the session; empty without one
	bearer string
	csrf   string // CSRF token for other methods than GET
	site   string // Sec-Fetch-Site
	cookie string
	ip     string // as forwarded by a proxy; empty without one
}

const password = "a long password of the tests"

// allCallers returns one caller of every kind.
func allCallers(t *testing.T, a *routestest.App) []caller {
	t.Helper()
	callers := []caller{
		{name: "nobody", site: "same-origin"},
		{name: "program", bearer: routestest.AdminToken},
		{name: "program with a wrong token", bearer: "wrong"},
	}
	for _, role := range []models.Role{models.RoleMember, models.RoleViewer, models.RoleAdmin} {
		email := string(role) + "@example.com"
		_, err := a.Services.People.Create(t.Context(), access.NewUser{Email: email, Role: role, Password: secrets.NewValue(password)})
		if err != nil {
			t.Fatal(err)
		}
		in, err := a.Services.People.SignIn(t.Context(), email, secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		cookie, token := in.Cookie.Reveal(), guard.MaskToken(in.Session.CSRF)
		callers = append(callers,
			caller{name: string(role), role: role, cookie: cookie, csrf: token, site: "same-origin"},
			caller{name: string(role) + " without a token", role: role, cookie: cookie, site: "same-origin"},
			caller{name: string(role) + " on another site", role: role, cookie: cookie, csrf: token, site: "cross-site"},
			caller{name: string(role) + " without Sec-Fetch-Site", role: role, cookie: cookie, csrf: token},
		)
	}
	return callers
}

// verdict is the decision of a guard about a request.
type verdict string

const (
	admitted     verdict = "admitted"
	unauthorized verdict = "401"
	forbidden    verdict = "403"
	toLogin      verdict = "redirect to sign-in"
	limited      verdict = "429"
)

// wantVerdict returns the expected verdict of the route's guard for a caller.
func wantVerdict(r routes.Row, c caller) verdict {
	api, reads := strings.HasPrefix(r.Path, "/api/"), r.Method == http.MethodGet
	own := c.site == "same-origin"
	var roles []models.Role
	switch r.Guard {
	case "open", "project", "catalog":
		return admitted
	case "browse", "visitor":
		if !reads && !own {
			return forbidden
		}
		return admitted
	case "person":
		roles = []models.Role{models.RoleAdmin, models.RoleViewer, models.RoleMember}
	case "own", "own careful":
		if api && c.bearer == routestest.AdminToken {
			return forbidden
		}
		roles = []models.Role{models.RoleAdmin, models.RoleViewer, models.RoleMember}
	case "viewer", "project viewer", "some viewer":
		roles = []models.Role{models.RoleAdmin, models.RoleViewer}
	case "admin", "careful", "maintainer", "careful maintainer", "some admin":
		roles = []models.Role{models.RoleAdmin}
	default:
		return "no such guard"
	}
	if api && c.bearer == routestest.AdminToken {
		return admitted
	}
	if c.role == "" {
		if api {
			return unauthorized
		}
		return toLogin
	}
	for _, role := range roles {
		if role == c.role {
			if !reads && (c.csrf == "" || !own) {
				return forbidden
			}
			return admitted
		}
	}
	return forbidden
}

// forbiddenByHandler are the routes whose handlers respond with 403 to these
// requests: a consent that did not start on its own page.
var forbiddenByHandler = map[string]bool{"POST /oauth/authorize": true, "POST /authorize": true}

// toLoginByHandler are the routes whose handlers redirect to the sign-in page:
// without a password there is no second step.
var toLoginByHandler = map[string]bool{"/login/second": true, "/login/second/passkey": true}

// endsSession are the routes that end the caller's session.
var endsSession = map[string]bool{"/logout": true, "/me/account/sign-out-everywhere": true}

// withNewSession returns the caller with a separate session.
func withNewSession(t *testing.T, a *routestest.App, c caller) caller {
	t.Helper()
	if c.role == "" {
		return c
	}
	in, err := a.Services.People.SignIn(t.Context(), string(c.role)+"@example.com", secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	c.cookie = in.Cookie.Reveal()
	if c.csrf != "" {
		c.csrf = guard.MaskToken(in.Session.CSRF)
	}
	return c
}

// isSuccess reports whether a response has a success message.
func isSuccess(answer *http.Response) bool {
	for _, cookie := range answer.Cookies() {
		if cookie.Name == "flash" && cookie.Value != "" {
			return true
		}
	}
	return false
}

// TestRouteMatrix sends every kind of caller to every route of the table.
// TestEveryRouteInTable checks that there are no others.
func TestRouteMatrix(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t), "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32")
	a.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{}}}}`)
	callers := allCallers(t, a)
	checked, asked := 0, 0
	for _, r := range routes.Table(a.Services) {
		if r.Guard == "project" || r.Method == http.MethodOptions || r.Method == "" {
			continue // tested by the conversations of the endpoints
		}
		for _, c := range callers {
			// Requests use IDs that do not exist, so that nothing changes for
			// later callers.
			if endsSession[r.Path] {
				c = withNewSession(t, a, c)
			}
			// Each request has another address, so that wrong tokens block no
			// caller.
			asked++
			c.ip = netip.AddrFrom4([4]byte{10, 0, byte(asked >> 8), byte(asked)}).String()
			got, status := sendAs(t, a, r, c, "no-such-thing")
			want := wantVerdict(r, c)
			if want == admitted && forbiddenByHandler[r.Method+" "+r.Path] {
				want = forbidden
			}
			if want == admitted && toLoginByHandler[r.Path] && got == toLogin {
				want = toLogin
			}
			if got != want {
				t.Errorf("%s %s (%s): %s is %s (%d), want %s", r.Method, r.Path, r.Guard, c.name, got, status, want)
			}
			checked++
		}
		if endsSession[r.Path] {
			for i, c := range callers {
				callers[i] = withNewSession(t, a, c)
			}
		}
	}
	if checked < 500 {
		t.Errorf("only %d pairs of routes and callers checked", checked)
	}
}

// TestCSRFMatrix checks for every route with side effects that cross-site
// requests, and requests without the CSRF token, change nothing.
func TestCSRFMatrix(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	var admin caller
	for _, c := range allCallers(t, a) {
		if c.name == "admin" {
			admin = c
		}
	}
	for _, r := range routes.Table(a.Services) {
		switch r.Guard {
		case "open", "project", "catalog":
			continue // it ignores cookies
		}
		if r.Method == http.MethodGet || r.Method == http.MethodOptions {
			continue
		}
		signedIn := r.Guard != "visitor" && r.Guard != "browse"
		for name, change := range map[string]func(*caller){
			"cross-site":           func(c *caller) { c.site = "cross-site" },
			"same-site":            func(c *caller) { c.site = "same-site" },
			"no Sec-Fetch-Site":    func(c *caller) { c.site = "" },
			"no token":             func(c *caller) { c.csrf = "" },
			"another user's token": func(c *caller) { c.csrf = strings.Repeat("A", len(c.csrf)) },
			"truncated token":      func(c *caller) { c.csrf = c.csrf[:len(c.csrf)-1] },
			"cookie as token":      func(c *caller) { c.csrf = c.cookie },
		} {
			if !signedIn && !strings.Contains(name, "site") && name != "no Sec-Fetch-Site" {
				continue
			}
			c := admin
			change(&c)
			if got, status := sendAs(t, a, r, c, "no-such-thing"); got != forbidden {
				t.Errorf("%s %s with %s: %s (%d)", r.Method, r.Path, name, got, status)
			}
		}
	}
}

// sendAs sends a caller's request to a route, with id for each parameter.
func sendAs(t *testing.T, a *routestest.App, r routes.Row, c caller, id string) (verdict, int) {
	t.Helper()
	var path strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(r.Path, "/"), "/") {
		if strings.HasPrefix(part, ":") || part == "*" {
			part = id
		}
		path.WriteString("/" + part)
	}
	request := httptest.NewRequest(r.Method, path.String(), nil)
	request.Host = "127.0.0.1:8080"
	if c.bearer != "" {
		request.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	if c.cookie != "" {
		request.AddCookie(&http.Cookie{Name: "sid", Value: c.cookie})
	}
	if c.csrf != "" && r.Method != http.MethodGet {
		request.Header.Set("X-CSRF-Token", c.csrf)
	}
	if c.site != "" {
		request.Header.Set("Sec-Fetch-Site", c.site)
	}
	if c.ip != "" {
		request.Header.Set("X-Forwarded-For", c.ip)
	}
	answer, err := a.Test(request, 30_000)
	if err != nil {
		t.Fatalf("%s %s as %s: %v", r.Method, path.String(), c.name, err)
	}
	defer answer.Body.Close()
	switch location := answer.Header.Get("Location"); {
	case answer.StatusCode == http.StatusSeeOther && (location == "/login" || strings.HasPrefix(location, "/login?")) && !isSuccess(answer):
		return toLogin, answer.StatusCode
	case answer.StatusCode == http.StatusUnauthorized:
		return unauthorized, answer.StatusCode
	case answer.StatusCode == http.StatusForbidden:
		return forbidden, answer.StatusCode
	case answer.StatusCode == http.StatusTooManyRequests:
		return limited, answer.StatusCode
	default:
		return admitted, answer.StatusCode
	}
}

func TestEveryRouteInTable(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	declared, kinds := map[string]bool{}, routes.Kinds(a.Services)
	for _, r := range routes.Table(a.Services) {
		if !kinds[r.Guard] {
			t.Errorf("%s %s has the unknown guard %q", r.Method, r.Path, r.Guard)
		}
		if declared[r.Method+" "+r.Path] {
			t.Errorf("%s %s is in the table twice", r.Method, r.Path)
		}
		declared[r.Method+" "+r.Path] = true
	}
	for _, r := range a.GetRoutes(true) {
		if !declared[r.Method+" "+r.Path] && !declared[" "+r.Path] && !(r.Method == http.MethodHead && declared["GET "+r.Path]) {
			t.Errorf("%s is served but not in the table", fmt.Sprint(r.Method, " ", r.Path))
		}
	}
}
