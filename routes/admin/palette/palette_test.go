package palette_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
)

// hits returns the labels of a palette without markup.
func hits(body string) []string {
	var list []string
	for _, found := range regexp.MustCompile(`(?s)<a class="hit"[^>]*>(.*?)</a>`).FindAllStringSubmatch(body, -1) {
		text := regexp.MustCompile(`(?s)<svg.*?</svg>|<span class="tile.*?</span>|<kbd>.*?</kbd>|<[^>]+>`).ReplaceAllString(found[1], "")
		list = append(list, strings.Join(strings.Fields(text), " "))
	}
	return list
}

func TestPaletteFindsPagesAndActions(t *testing.T) {
	a := routestest.NewAdmin(t)
	a.Key(t, "p", 0)
	for query, want := range map[string]string{
		"clock":     "clock Server · p",
		"current_t": "clock__current_time Tool · p",
		"ada":       "ada Person",
		"create k":  "Create key…",
		"new pro":   "New project…",
		"postgr":    "",
		"connectio": "Connections Page",
		"zzzz":      "",
	} {
		_, body, _ := a.Send(t, "/admin/palette?dialog=1&from=/admin/projects/p/keys&query="+url.QueryEscape(query), nil)
		got := hits(body)
		switch {
		case want == "" && query == "zzzz" && len(got) > 0, want != "" && (len(got) == 0 || got[0] != want):
			t.Errorf("%q: %q, want first %q", query, got, want)
		case query == "zzzz" && !strings.Contains(body, "Nothing matches"):
			t.Errorf("no empty state: %s", body)
		}
		if strings.Contains(body, "<html") {
			t.Errorf("%q: the dialog is a whole page", query)
		}
	}
	if _, body, _ := a.Send(t, "/admin/palette?query=clock", nil); !strings.Contains(body, "<h1") || len(hits(body)) == 0 {
		t.Errorf("page without scripts: %s", body)
	}
}

func TestPaletteFindsToolsets(t *testing.T) {
	a := routestest.NewAdmin(t)
	a.Apply(t, `{"projects":{"hidden-b":{"name":"Hidden","authMode":"api_key","mcpServers":{}}}}`)
	a.Toolset(t, "p", models.Toolset{Slug: "reader", Name: "Only <look>"})
	a.Toolset(t, "p", models.Toolset{Slug: "readable"})
	a.Toolset(t, "hidden-b", models.Toolset{Slug: "reader-b", Name: "Only theirs"})
	eve, _ := a.Join(t, "eve@example.com", "Eve", models.RoleViewer)
	mia, id := a.Join(t, "mia@example.com", "Mia", models.RoleMember)
	a.Grant(t, "p", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: id, Role: models.GrantMaintain})
	look, readable, theirs := "Only &lt;look&gt; Toolset · p", "readable Toolset · p", "Only theirs Toolset · Hidden"
	for _, who := range []struct {
		name string
		*routestest.Admin
		all bool
	}{{"administrator", a, true}, {"viewer", eve, true}, {"maintainer", mia, false}} {
		for query, want := range map[string][]string{"only": {look, theirs}, "read": {readable, look, theirs}, "reader-b": {theirs}} {
			if !who.all {
				want = slices.DeleteFunc(want, func(label string) bool { return label == theirs })
			}
			status, body, _ := who.Send(t, "/admin/palette?dialog=1&from=/admin/projects/p&query="+query, nil)
			if got := hits(body); status != 200 || !slices.Equal(got, want) {
				t.Errorf("%s, %q: %d %q, want %q", who.name, query, status, got, want)
			}
		}
	}
	_, body, _ := a.Send(t, "/admin/palette?query=readable", nil)
	found := regexp.MustCompile(`href="(/admin/projects/p/toolsets/[^"]+)"`).FindStringSubmatch(body)
	if found == nil {
		t.Fatal("no link to the toolset")
	}
	if status, body, _ := mia.Send(t, found[1], nil); status != 200 || !strings.Contains(body, "readable") {
		t.Errorf("%s: %d", found[1], status)
	}
}

func TestPaletteBoundsAndEscapesQuery(t *testing.T) {
	a := routestest.NewAdmin(t)
	for _, n := range []int{99, 100, 101} {
		query := "<b>" + strings.Repeat("x", n-3)
		status, body, _ := a.Send(t, "/admin/palette?query="+url.QueryEscape(query), nil)
		kept := strings.Repeat("x", min(n, 100)-3)
		if status != 200 || strings.Contains(body, "<b>") || !strings.Contains(body, "&lt;b&gt;"+kept+"&#34;") {
			t.Errorf("%d characters: status %d", n, status)
		}
	}
}

func TestViewerGetsNoActions(t *testing.T) {
	a := routestest.NewAdmin(t)
	password := secrets.NewValue("a long password of the tests")
	people := a.Services.People
	if _, err := people.Create(t.Context(), access.NewUser{Email: "eve@example.com", Role: models.RoleViewer, Password: password}); err != nil {
		t.Fatal(err)
	}
	in, err := people.SignIn(t.Context(), "eve@example.com", password, access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for cookie, want := range map[string]bool{a.Cookie: true, in.Cookie.Reveal(): false} {
		a.Cookie = cookie
		status, body, _ := a.Send(t, "/admin/palette?query=new+project", nil)
		if got := len(hits(body)) > 0; status != 200 || got != want {
			t.Errorf("status %d, actions %t, want %t", status, got, want)
		}
	}
}

func TestPaletteNamesWhatServersOfCatalogAreFor(t *testing.T) {
	a := routestest.NewAdmin(t)
	const file = `{"version":1,"items":[{"publisherName":"q","serverName":"zebra-remote","serverType":"http","remoteUrl":"https://zebra.example.com/mcp"},{"publisherName":"q","serverName":"zebra-tool","serverType":"stdio"}]}`
	if _, err := a.Services.CatalogStore.ImportFile(t.Context(), []byte(file), false); err != nil {
		t.Fatal(err)
	}
	eve, _ := a.Join(t, "eve@example.com", "Eve", models.RoleViewer)
	for _, who := range []struct {
		*routestest.Admin
		want []string
	}{{a, []string{"zebra-remote Add to a project", "zebra-tool Runs as a program"}}, {eve, []string{"zebra-remote Catalog", "zebra-tool Runs as a program"}}} {
		_, body, _ := who.Send(t, "/admin/palette?dialog=1&query=zebra", nil)
		if got := hits(body); !slices.Equal(got, who.want) {
			t.Errorf("hits = %q, want %q", got, who.want)
		}
	}
}
