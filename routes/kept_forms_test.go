package routes_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
	"mcpgateway/views/layout"
	"mcpgateway/web/guard"
)

// browser is a browser with a session of the administrator.
type browser struct {
	*routestest.App
	cookies map[string]string
	csrf    string
}

// page is a response that a browser received.
type page struct {
	Status   int
	Location string
	Flash    string
	Body     string

	FlashLink, FlashUndo string // targets of the flash message
}

const formAdmin = "ada@example.com"

func newBrowser(t *testing.T, a *routestest.App) *browser {
	t.Helper()
	in, err := a.Services.People.SignIn(t.Context(), formAdmin, secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return &browser{App: a, cookies: map[string]string{"sid": in.Cookie.Reveal()}, csrf: guard.MaskToken(in.Session.CSRF)}
}

// send sends a form, or requests a page without one, and stores the cookies.
func (b *browser) send(t *testing.T, path string, form url.Values, header ...string) page {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		request = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	for name, value := range b.cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	answer, err := b.Test(request, 60_000)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := page{Status: answer.StatusCode, Location: answer.Header.Get("Location"), Body: string(body)}
	for _, cookie := range answer.Cookies() {
		if cookie.Name == "flash" {
			got.Flash, got.FlashLink, got.FlashUndo = flashOf(t, cookie.Value)
			continue
		}
		if b.cookies[cookie.Name] = cookie.Value; cookie.Value == "" {
			delete(b.cookies, cookie.Name)
		}
	}
	return got
}

// post sends a form with the session's CSRF token.
func (b *browser) post(t *testing.T, path string, form url.Values) page {
	t.Helper()
	form.Set("csrf", b.csrf)
	return b.send(t, path, form, "Referer", "http://127.0.0.1:8080/admin/people?query=x")
}

func flashOf(t *testing.T, value string) (text, link, undo string) {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(raw) == 0 {
		return "", "", ""
	}
	var flash layout.Flash
	if err := json.Unmarshal(raw, &flash); err != nil {
		t.Fatal(err)
	}
	return flash.Text, flash.LinkURL, flash.Undo
}

// age updates columns of every session as if time had passed.
func (b *browser) age(t *testing.T, columns map[string]any) {
	t.Helper()
	if err := b.Services.DB.Model(&models.BrowserSession{}).Where("revoked_at IS NULL").Updates(columns).Error; err != nil {
		t.Fatal(err)
	}
}

// expireConfirmations sets the last confirmation of every user too far into
// the past.
func (b *browser) expireConfirmations(t *testing.T) {
	t.Helper()
	b.age(t, map[string]any{"authenticated_at": time.Now().UTC().Add(-access.StepUpIdle - time.Second), "confirmed_at": nil})
}

// expireSessions sets the last use of every session too far into the past.
func (b *browser) expireSessions(t *testing.T) {
	t.Helper()
	b.age(t, map[string]any{"last_seen_at": time.Now().UTC().Add(-access.SessionIdle)})
}

// confirm submits the page that a form redirected to, without scripts.
func (b *browser) confirm(t *testing.T, at page, path string, more url.Values) page {
	t.Helper()
	to, err := url.Parse(at.Location)
	if err != nil || at.Status != http.StatusSeeOther || to.Path != path || to.Query().Get("form") == "" {
		t.Fatalf("redirect %d to %q, want %s with a form", at.Status, at.Location, path)
	}
	shown := b.send(t, at.Location, nil)
	if shown.Status != http.StatusOK || !strings.Contains(shown.Body, "othing you typed is lost") {
		t.Fatalf("%s: status %d", at.Location, shown.Status)
	}
	form := url.Values{"csrf": {b.csrf}}
	for _, name := range []string{"next", "form"} {
		form.Set(name, hiddenField(t, shown.Body, name))
	}
	for name, values := range more {
		form[name] = values
	}
	return b.send(t, path, form)
}

func hiddenField(t *testing.T, body, name string) string {
	t.Helper()
	found := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)"`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("page lacks the field %s", name)
	}
	return strings.ReplaceAll(found[1], "&amp;", "&")
}

// modes are the ways in which a form reaches the gateway.
var modes = map[string]func(t *testing.T, b *browser, careful bool, path string, form url.Values) page{
	"in time": func(t *testing.T, b *browser, _ bool, path string, form url.Values) page {
		return b.post(t, path, form)
	},
	"expired confirmation": func(t *testing.T, b *browser, careful bool, path string, form url.Values) page {
		b.expireConfirmations(t)
		got := b.post(t, path, form)
		if careful {
			got = b.confirm(t, got, "/login/again", url.Values{"password": {password}})
		}
		return got
	},
	"expired session": func(t *testing.T, b *browser, _ bool, path string, form url.Values) page {
		b.expireSessions(t)
		in := b.confirm(t, b.post(t, path, form), "/login", url.Values{"email": {formAdmin}, "password": {password}})
		return b.post(t, path, b.draft(t, in, path, form))
	},
}

// draft opens the page that a sign-in redirects to and returns the fields of its
// form for path. They are the entered ones, and nothing was sent yet.
func (b *browser) draft(t *testing.T, in page, path string, entered url.Values) url.Values {
	t.Helper()
	if in.Status != http.StatusSeeOther || !strings.Contains(in.Location, "draft=") {
		t.Fatalf("after the sign-in: %d %q", in.Status, in.Location)
	}
	shown := b.send(t, in.Location, nil)
	if shown.Status != http.StatusOK || !strings.Contains(shown.Body, "Nothing was sent yet") {
		t.Fatalf("page of the draft: %d", shown.Status)
	}
	fields := formFields(t, shown.Body, path)
	want := maps.Clone(entered)
	want.Del("csrf")
	fields.Del("csrf")
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("%s: fields of the draft (-entered +shown):\n%s", path, diff)
	}
	return fields
}

// formFields returns the fields that a browser would send with the form that
// posts to path.
func formFields(t *testing.T, body, path string) url.Values {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	attr := func(n *html.Node, name string) string {
		for _, a := range n.Attr {
			if a.Key == name {
				return a.Val
			}
		}
		return ""
	}
	for form := range root.Descendants() {
		if form.Data != "form" || !strings.EqualFold(attr(form, "method"), "post") || attr(form, "action") != path {
			continue
		}
		fields := url.Values{}
		for n := range form.Descendants() {
			name, kind := attr(n, "name"), attr(n, "type")
			switch checked := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "checked" }); {
			case n.Data != "input" || name == "" || (kind == "radio" || kind == "checkbox") && !checked:
			default:
				fields.Add(name, attr(n, "value"))
			}
		}
		return fields
	}
	t.Fatalf("page has no form for %s", path)
	return nil
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
var durations = regexp.MustCompile(`\d+ ms`)

// effect is the result of a form: the page that follows and its audit entries.
type effect struct {
	Page  page
	Audit []string
}

// TestStoredFormsHaveSameEffect sends each form of the administration in time,
// after the confirmation expired and after the session expired, when the filled
// form is sent again. The effect is the same.
func TestStoredFormsHaveSameEffect(t *testing.T) {
	effects := map[string]map[string]effect{}
	for mode, send := range modes {
		t.Run(mode, func(t *testing.T) {
			effects[mode] = map[string]effect{}
			w := newFormWorld(t)
			for _, f := range w.forms(t) {
				before := w.audited(t)
				path, form := f.make(t, w)
				got := send(t, w.browser, f.guard == "careful" || f.careful, path, form)
				if got.Status != f.status() || !strings.Contains(got.Body, f.want) {
					t.Errorf("%s: status %d, want %d with %q (%s %q)", f.route, got.Status, f.status(), f.want, got.Location, got.Flash)
				}
				got.Location, got.Flash = ids.ReplaceAllString(got.Location, "ID"), durations.ReplaceAllString(ids.ReplaceAllString(got.Flash, "ID"), "n ms")
				got.Body, got.FlashUndo, got.FlashLink = "", "", ids.ReplaceAllString(got.FlashLink, "ID")
				effects[mode][f.route+f.variant] = effect{got, w.audited(t)[len(before):]}
				if f.ends {
					w.browser = newBrowser(t, w.App)
				}
			}
		})
	}
	for mode, got := range effects {
		if diff := cmp.Diff(effects["in time"], got); diff != "" {
			t.Errorf("%s (-in time +%s):\n%s", mode, mode, diff)
		}
	}
}

// TestEveryFormHasCase compares the route table with the forms above.
func TestEveryFormHasCase(t *testing.T) {
	w := newFormWorld(t)
	cases := map[string]bool{}
	for _, f := range w.forms(t) {
		cases["POST "+f.route] = true
	}
	for _, r := range routes.Table(w.Services) {
		if strings.HasPrefix(r.Path, "/admin/") && r.Method != http.MethodGet && !cases[r.Method+" "+r.Path] {
			t.Errorf("%s %s has no case", r.Method, r.Path)
		}
	}
}

// audited returns the actions in the audit log except sign-ins.
func (w *formWorld) audited(t *testing.T) []string {
	t.Helper()
	var rows []models.AuditEntry
	// Moved members of toolsets are recorded by syncs, which also run on their own.
	if err := w.Services.DB.Order("seq").Find(&rows, "action NOT IN ('login.succeeded', 'step_up', 'toolset.members_changed')").Error; err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, row := range rows {
		all = append(all, row.Action+" "+ids.ReplaceAllString(row.Object, "ID")+" by "+row.ActorName)
	}
	return all
}

func newFormWorld(t *testing.T) *formWorld {
	t.Helper()
	a := routestest.New(t, modelstest.SQLite(t), "GATEWAY_BUILTIN_CATALOG=true")
	if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: formAdmin, Role: models.RoleAdmin, Password: secrets.NewValue(password)}); err != nil {
		t.Fatal(err)
	}
	w := &formWorld{browser: newBrowser(t, a)}
	w.fill(t)
	return w
}
