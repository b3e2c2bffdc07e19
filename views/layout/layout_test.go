package layout_test

import (
	"strings"
	"testing"

	"github.com/a-h/templ"

	"mcpgateway/views/layout"
)

const hostile = `"'></title></script><script>alert(1)</script>`

func frame() layout.Frame {
	return layout.Frame{Assets: layout.NewAssets(func(name string) string { return "/static/hash/" + name }), Title: "People"}
}

func TestFrameAssets(t *testing.T) {
	for name, c := range frames(frame()) {
		html := draw(t, c)
		for _, want := range []string{
			`<title>People · Gateway</title>`, `href="/static/hash/css/app.css"`, `href="data:image/svg+xml,`,
			`<script type="module" blocking="render" src="/static/hash/js/app.js">`, `<script defer fetchpriority="low" src="/static/hash/vendor/htmx.min.js">`,
			`<use href="/static/hash/icons.svg#brand">`, `href="#main"`, `<main id="main"`, "the page itself",
		} {
			if !strings.Contains(html, want) {
				t.Errorf("%s lacks %s:\n%s", name, want, html)
			}
		}
	}
}

func TestFrameEscapesText(t *testing.T) {
	f := frame()
	f.Title, f.Description, f.CanonicalURL = hostile, hostile, hostile
	f.Person = &layout.Person{Name: hostile, Email: hostile, Role: hostile, CSRF: hostile}
	f.Banners = []layout.Banner{{Tone: hostile, Text: hostile, LinkLabel: hostile, LinkURL: "javascript:alert(1)"}}
	f.Flash = &layout.Flash{Tone: hostile, Text: hostile}
	f.Head = layout.OpenGraph(hostile, hostile, hostile, hostile, hostile)
	for name, c := range frames(f) {
		html := draw(t, c)
		for _, raw := range []string{"<script>", "javascript:"} {
			if strings.Contains(html, raw) {
				t.Errorf("%s contains %q:\n%s", name, raw, html)
			}
		}
		if got := strings.Count(html, "</title>"); got != 1 {
			t.Errorf("%s has %d titles", name, got)
		}
	}
}

func TestJSONLDEscapesScriptEnd(t *testing.T) {
	html := draw(t, layout.JSONLD(map[string]string{"name": hostile}))
	if !strings.HasPrefix(html, `<script type="application/ld+json">`) || strings.Count(html, "<") != 2 {
		t.Errorf("got %s", html)
	}
}

func TestFrameShowsSignedInUser(t *testing.T) {
	for _, tc := range []struct {
		person         *layout.Person
		csrf           string
		admin          bool
		signIn, menu   bool
		administration bool
		shown          string
	}{
		{nil, "", false, true, false, false, ""},
		{&layout.Person{Name: "Ada", Email: "ada@example.com", Role: "admin", CSRF: "t1"}, "t1", true, false, true, true, ">Ada<"},
		{&layout.Person{Email: "eve@example.com", Role: "viewer", CSRF: "t2"}, "t2", false, false, true, true, ">eve@example.com<"},
		{&layout.Person{Email: "mem@example.com", Role: "member", CSRF: "t3"}, "t3", false, false, true, false, ">mem@example.com<"},
	} {
		f := frame()
		f.Person = tc.person
		if f.CSRF() != tc.csrf || f.Admin() != tc.admin {
			t.Errorf("%+v: token %q, admin %t", tc.person, f.CSRF(), f.Admin())
		}
		html := draw(t, layout.ForPerson(f))
		for what, want := range map[string]bool{
			`href="/login"`: tc.signIn, `action="/logout"`: tc.menu, `href="/admin/people"`: tc.administration, `value="` + tc.csrf + `"`: tc.menu,
		} {
			if tc.csrf == "" && strings.HasPrefix(what, "value") {
				continue
			}
			if got := strings.Contains(html, what); got != want {
				t.Errorf("%+v: page contains %s = %t, want %t", tc.person, what, got, want)
			}
		}
		if !strings.Contains(html, tc.shown) {
			t.Errorf("%+v: page lacks %s", tc.person, tc.shown)
		}
	}
}

func TestNavigationMarksSection(t *testing.T) {
	for section, url := range map[layout.Section]string{
		layout.SectionProjects: "/admin", layout.SectionConnections: "/admin/connections", layout.SectionCatalog: "/registry",
		layout.SectionAudit: "/admin/audit", layout.SectionPeople: "/admin/people", layout.SectionSettings: "/admin/settings",
		layout.SectionRegistry: "/registry", layout.SectionTemplates: "/registry", layout.SectionDocs: "", layout.SectionNone: "", layout.SectionAccount: "",
	} {
		f := frame()
		f.Section = section
		html := draw(t, layout.Shell(f))
		want := 1
		if url == "" {
			want = 0
		}
		if got := strings.Count(html, `aria-current="page"`); got != want {
			t.Errorf("%q marks %d entries, want %d", section, got, want)
		}
		if url != "" && !strings.Contains(html, `href="`+url+`" aria-current="page"`) {
			t.Errorf("%q does not mark %s", section, url)
		}
	}
}

func TestProjectPageMarksTab(t *testing.T) {
	for tab, url := range map[layout.ProjectTab]string{
		layout.TabOverview: "/admin/projects/acme", layout.TabConnect: "/admin/projects/acme/connect", layout.TabServers: "/admin/projects/acme/servers",
		layout.TabTools: "/admin/projects/acme/tools", layout.TabKeys: "/admin/projects/acme/keys", layout.TabAccess: "/admin/projects/acme/access",
		layout.TabCodeMode: "/admin/projects/acme/code-mode", layout.TabActivity: "/admin/projects/acme/activity", layout.TabUsage: "/admin/projects/acme/usage", layout.TabSettings: "/admin/projects/acme/settings",
	} {
		f := signedIn()
		f.Section, f.Tab = layout.SectionProjects, tab
		html := draw(t, layout.Shell(f))
		if !strings.Contains(html, `href="`+url+`" aria-current="page"`) || strings.Count(html, `aria-current="page"`) != 1 {
			t.Errorf("%q does not mark %s", tab, url)
		}
	}
}

func TestSideBarShowsWhatNeedsAttention(t *testing.T) {
	f := signedIn()
	f.Section, f.Tab = layout.SectionProjects, layout.TabOverview
	for _, want := range []string{">2 down<", ">36 ", ">7 of 9 servers up<", `data-url="/admin/live?project=acme&amp;topics=nav%3Aoverview%2C"`} {
		if html := draw(t, layout.Shell(f)); !strings.Contains(html, want) {
			t.Errorf("lacks %s: %s", want, html)
		}
	}
}

func TestMemberSeesOwnPages(t *testing.T) {
	f := frame()
	f.Person = &layout.Person{Email: "mem@example.com", Role: layout.RoleMember}
	html := draw(t, layout.Shell(f))
	if !strings.Contains(html, "My projects") || strings.Contains(html, `href="/admin/people"`) || strings.Contains(html, "live-page") {
		t.Errorf("got %s", html)
	}
}

// signedIn returns the frame of a page of the project acme for an administrator.
func signedIn() layout.Frame {
	f := frame()
	f.Person = &layout.Person{Name: "Ada", Email: "ada@example.com", Role: layout.RoleAdmin, CSRF: "t1"}
	f.Nav = &layout.Nav{Total: 1, Projects: []layout.NavProject{{Slug: "acme", Up: 7, Down: 2, Servers: 9, Tone: "bad", Approve: 36}}}
	f.Nav.Project = &f.Nav.Projects[0]
	return f
}

func TestIconAssets(t *testing.T) {
	var b strings.Builder
	ctx := layout.WithAssets(t.Context(), layout.Assets{Sprite: "/static/icons.svg"})
	if err := layout.Icon("copy").Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `<use href="/static/icons.svg#copy">`) {
		t.Errorf("with assets: %s", &b)
	}
	if html := draw(t, layout.Icon("copy")); html != "" {
		t.Errorf("without: %s", html)
	}
}

// frames returns both frames around the same page.
func frames(f layout.Frame) map[string]templ.Component {
	return map[string]templ.Component{"Shell": layout.Shell(f), "Page": layout.Page(f)}
}

func draw(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	ctx := templ.WithChildren(t.Context(), templ.Raw("<p>the page itself</p>"))
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
