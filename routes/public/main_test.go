package public_test

import (
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/secrets"
	"mcpgateway/web/guard"
	"mcpgateway/web/webtest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m,
		// The clock of the highlighter's expressions ends a while after the last match.
		goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

func newApp(t *testing.T, settings ...string) *routestest.App {
	t.Helper()
	return routestest.New(t, modelstest.SQLite(t), append(settings, "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32", "GATEWAY_BUILTIN_CATALOG=true")...)
}

// get requests a page and fails the test unless the response has the status.
func get(t *testing.T, a *routestest.App, path string, status int, headers ...string) webtest.Response {
	t.Helper()
	c := webtest.Case{Path: path, Header: map[string]string{"Accept": "text/html", "X-Forwarded-For": uniqueAddress()}}
	for i := 0; i < len(headers); i += 2 {
		c.Header[headers[i]] = headers[i+1]
	}
	answer := webtest.Send(t, a.App, c)
	if answer.Status != status {
		t.Fatalf("GET %s: status %d, want %d: %s", path, answer.Status, status, answer.Body)
	}
	return answer
}

// uniqueAddress returns an address with few requests so far.
func uniqueAddress() string {
	return fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), rand.IntN(256))
}

// administrator sets up the gateway. It returns the Cookie header of the first
// administrator and the CSRF token of the session.
func administrator(t testing.TB, a *routestest.App) (cookie, csrf string) {
	t.Helper()
	token, err := a.Services.People.NewSetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in, err := a.Services.People.Setup(t.Context(), access.SetupForm{
		Token: token, Email: "ada@example.com", Name: "Ada", Password: secrets.NewValue("a long pass phrase for tests"),
	}, access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return "sid=" + in.Cookie.Reveal(), guard.MaskToken(in.Session.CSRF)
}

// signedIn adds a user with a role and returns the Cookie header of their session.
func signedIn(t *testing.T, a *routestest.App, role string) string {
	t.Helper()
	password := secrets.NewValue("a long pass phrase for tests")
	if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: role + "@example.com", Role: models.Role(role), Password: password}); err != nil {
		t.Fatal(err)
	}
	in, err := a.Services.People.SignIn(t.Context(), role+"@example.com", password, access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return "sid=" + in.Cookie.Reveal()
}

var link = regexp.MustCompile(`<a [^>]*href="([^"]*)"[^>]*rel="next"`)

// next returns the URL of the next page of a list, or "".
func next(body string) string {
	m := link.FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}

var card = regexp.MustCompile(`<a class="card-link break" href="([^"]*)"`)

// cards returns the links of the cards of a list.
func cards(body string) []string {
	var paths []string
	for _, m := range card.FindAllStringSubmatch(body, -1) {
		paths = append(paths, html.UnescapeString(m[1]))
	}
	return paths
}

// query returns the URL of a list for a query.
func query(path, text string) string { return path + "?" + url.Values{"query": {text}}.Encode() }

// data returns the schema.org data of a page.
func data(t *testing.T, body string) map[string]any {
	t.Helper()
	_, rest, found := strings.Cut(body, `type="application/ld+json">`)
	text, _, closed := strings.Cut(rest, "</script>")
	if !found || !closed {
		t.Fatal("page lacks schema.org data")
	}
	var d map[string]any
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("schema.org data %s: %v", text, err)
	}
	return d
}
