package public_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/catalog"
	"mcpgateway/services/declaration"
	"mcpgateway/views/public"
	"mcpgateway/web/webtest"
)

func TestRegistryPages(t *testing.T) {
	a := newApp(t)
	var seen []string
	pages := 0
	for path := "/registry"; path != ""; pages++ {
		body := get(t, a, path, 200).Body
		seen = append(seen, cards(body)...)
		if current := fmt.Sprintf(`aria-label="Page %d" aria-current="page"`, pages+1); !strings.Contains(body, current) {
			t.Errorf("page %d isn't marked", pages+1)
		}
		if noIndex := strings.Contains(body, `content="noindex, follow"`); noIndex != (pages > 0) {
			t.Errorf("page %d: noindex = %t", pages+1, noIndex)
		}
		path = next(body)
	}
	every, err := a.Services.Catalog.Browse(catalog.View{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range public.Servers(every.Rows) {
		want = append(want, s.Path())
	}
	if len(want) < 100 || pages != (len(want)+23)/24 || !slices.Equal(seen, want) {
		t.Errorf("%d pages show %d servers of %d", pages, len(seen), len(want))
	}
}

func TestRegistryCounts(t *testing.T) {
	a := newApp(t)
	n, featured := len(a.Services.Catalog.AllEntries()), 0
	for _, e := range a.Services.Catalog.AllEntries() {
		featured += one(e.Featured)
	}
	for text, want := range map[string]string{
		"":                    fmt.Sprintf("%d servers, featured first", n),
		"github":              "servers, best matches first",
		"featured:true":       fmt.Sprintf("1–24 of %d", featured),
		"publisher:atlassian": "1 server, featured first",
		"zzzzzz":              "No server matches",
	} {
		if body := get(t, a, query("/registry", text), 200).Body; !strings.Contains(body, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

func TestChipAndFacetLinks(t *testing.T) {
	a := newApp(t)
	for _, tc := range []struct{ query, link string }{
		{"github", "github verified:true"},
		{"github verified:true", "github"},
		{"verified:false", "verified:true"},
		{"tag:search", ""},
		{"tag:search", "tag:search tag:database"},
		{"-tag:search git", "git"},
		{`"pull request" publisher:github`, `"pull request"`},
	} {
		body := get(t, a, query("/registry", tc.query), 200).Body
		want := "/registry"
		if tc.link != "" {
			want = query("/registry", tc.link)
		}
		if !strings.Contains(body, `href="`+html.EscapeString(want)+`"`) {
			t.Errorf("%q has no link to %q", tc.query, tc.link)
		}
	}
}

func TestFacetCounts(t *testing.T) {
	a := newApp(t)
	// Tags are alternatives: another tag adds its servers to the list.
	every, err := a.Services.Catalog.Facets("verified:true", catalog.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	body := get(t, a, query("/registry", "verified:true tag:search"), 200).Body
	for _, tag := range every.Tags[:5] {
		if tag.Value == "search" {
			continue // it is chosen
		}
		want := `<span class="clip-text">` + public.Topic(tag.Value) + `</span> <span class="n">` + strconv.Itoa(tag.Count) + `</span>`
		if !strings.Contains(body, want) {
			t.Errorf("tag %s lacks the count %d", tag.Value, tag.Count)
		}
	}
}

func TestInvalidQueryShown(t *testing.T) {
	a := newApp(t)
	for _, tc := range []struct{ name, query, marked, fix string }{
		{"misspelled qualifier", "é tags:search x", "tags:search", "é tag:search x"},
		{"qualifier of another surface", "category:code", "category:code", `"category:code"`},
		{"address", "https://x.example/a", "https://x.example/a", `"https://x.example/a"`},
		{"no value", "git tag:", "tag:", "git"},
		{"no closing quote", `git "pull request`, `&#34;pull request`, `git "pull request"`},
		{"dangling negation", "git - hub", "-", "git hub"},
		{"no boolean", "verified:yes", "verified:yes", "verified:true"},
		{"markup", `tag:"<script>alert(1)</script>`, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer := get(t, a, query("/registry", tc.query), 400)
			if tc.marked != "" && !strings.Contains(answer.Body, "<mark>"+tc.marked+"</mark>") {
				t.Errorf("%q is not marked", tc.marked)
			}
			if tc.fix != "" && !strings.Contains(answer.Body, `href="`+html.EscapeString(query("/registry", tc.fix))+`"`) {
				t.Errorf("no link to %q", tc.fix)
			}
			if strings.Contains(answer.Body, "<script>alert") {
				t.Error("query is not escaped")
			}
			if answer.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control is %q", answer.Header.Get("Cache-Control"))
			}
			// While the user types, the same message comes with status 200.
			get(t, a, query("/registry", tc.query), 200, "HX-Request", "true")
		})
	}
}

func TestPageNumbers(t *testing.T) {
	a := newApp(t)
	n := len(a.Services.Catalog.AllEntries())
	last := (n + 23) / 24
	begin := fmt.Sprintf("1–24 of %d", n)
	for _, tc := range []struct{ path, want string }{
		{fmt.Sprintf("/registry?page=%d", last), fmt.Sprintf("%d–%d of %d", (last-1)*24+1, n, n)},
		{fmt.Sprintf("/registry?page=%d", last+1), "The catalog changed. Back to page 1."},
		{"/registry?page=100000", "The catalog changed. Back to page 1."},
		{"/registry?page=100001", begin},
		{"/registry?page=0", begin},
		{"/registry?page=-1", begin},
		{"/registry?page=two", begin},
		{"/registry?cursor=older", "That link expired. Back to page 1."},
		{"/templates?page=2", "The catalog changed. Back to page 1."},
		{"/templates?cursor=older", "That link expired. Back to page 1."},
	} {
		body := get(t, a, tc.path, 200).Body
		if !strings.Contains(body, tc.want) || len(cards(body)) == 0 {
			t.Errorf("%s lacks %q, or any card", tc.path, tc.want)
		}
	}
	// The state of the list is in the links to its pages.
	body := get(t, a, "/registry?query=tag:devops&sort=name&works=1&signin=oauth", 200).Body
	if !strings.Contains(body, `name="signin" value="oauth"`) || !strings.Contains(body, `name="works" value="1"`) || !strings.Contains(body, `<option value="name" selected>`) {
		t.Error("the forms don't retain the selection")
	}
}

func TestWorksHere(t *testing.T) {
	a := newApp(t)
	asana, err := a.Services.Catalog.EntryByName("asana", "asana")
	if err != nil {
		t.Fatal(err)
	}
	a.Apply(t, fmt.Sprintf(`{"projects":{"team":{"authMode":"none","mcpServers":{"issues":{"url":"%s/"}}}}}`, asana.RemoteURL))
	cookie, _ := administrator(t, a)
	remote, local, here, noKey := 0, 0, 0, 0
	for _, e := range a.Services.Catalog.AllEntries() {
		remote += one(e.RemoteURL != "")
		local += one(e.ServerType == "stdio")
		here += one(e.RunsHere())
		noKey += one(e.RemoteURL != "" && e.AuthType == "none")
	}
	all, works := fmt.Sprintf("%d servers, ", remote+local), fmt.Sprintf("%d servers that work here, ", remote)
	runs := fmt.Sprintf("%d servers that run here, ", here)
	const on = `<a class="chip on" href="%s" aria-current="true">`
	for _, tc := range []struct{ name, path, cookie, want string }{
		{"visitor", "/registry", "", all},
		{"visitor who chooses it", "/registry?works=1", "", works},
		{"signed-in user", "/registry", cookie, works},
		{"signed-in user who wants all", "/registry?works=0", cookie, all},
		{"named transport", "/registry?query=transport%3Astdio", cookie, fmt.Sprintf("%d servers, ", local)},
		{"without a key", "/registry?signin=none", cookie, fmt.Sprintf("%d servers that work here, ", noKey)},
		{"unknown sign-in", "/registry?signin=no", cookie, works},
		{"programs for a visitor", "/registry?runs=here", "", runs},
		{"programs for a signed-in user", "/registry?runs=here", cookie, runs},
		{"link to programs", "/registry?query=asana", cookie, `href="/registry?query=asana&amp;runs=here"`},
		{"link back", "/registry?runs=here", cookie, `href="/registry"`},
		{"unknown place", "/registry?runs=there", "", all},
	} {
		if body := get(t, a, tc.path, 200, "Cookie", tc.cookie).Body; !strings.Contains(body, tc.want) {
			t.Errorf("%s: lacks %q", tc.name, tc.want)
		}
	}
	if body := get(t, a, "/registry", 200, "Cookie", cookie).Body; !strings.Contains(body, fmt.Sprintf(on, "/registry?works=0")) {
		t.Error("no chip turns it off")
	}
	if body := get(t, a, "/registry?query=asana", 200, "Cookie", cookie+"; project=team").Body; strings.Count(body, "Added") != 1 {
		t.Error("the server of the project isn't marked as added")
	}
	if body := get(t, a, "/registry/asana/asana", 200, "Cookie", cookie).Body; !strings.Contains(body, "Already in team.") {
		t.Error("the page of the server lacks its project")
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestRunItHere(t *testing.T) {
	a := newApp(t)
	const file = `{"version":1,"items":[{"publisherName":"p","serverName":"%s","serverType":"stdio","authType":"none","packages":[{"type":"%s","identifier":"%s"%s}],
		"env":[{"name":"KEY","required":true,"secret":true},{"name":"REGION","required":false,"secret":false}]}]}`
	for _, tc := range []struct{ name, kind, identifier, more, want string }{
		{"node", "npm", "@p/mcp", `,"args":["start"]`, "npx -y @p/mcp start"},
		{"python", "pypi", "p-mcp", "", "uvx p-mcp"},
		{"image", "oci", "p/mcp:1", "", "docker run --rm -i -e KEY p/mcp:1"},
		{"option", "npm", "--call=id", "", ""},
		{"shell", "npm", "a;id", "", ""},
		{"repository", "npm", "p/mcp", "", ""},
		{"argument", "npm", "mcp", `,"args":["$(id)"]`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := a.Services.CatalogStore.ImportFile(t.Context(), fmt.Appendf(nil, file, tc.name, tc.kind, tc.identifier, tc.more), false); err != nil {
				t.Fatal(err)
			}
			body := get(t, a, "/registry/p/"+tc.name, 200).Body
			_, card, found := strings.Cut(body, "Run it here</h2>")
			if found != (tc.want != "") {
				t.Fatalf("card = %t", found)
			}
			if !found {
				if !strings.Contains(body, "Its publisher names no package.") {
					t.Error("the page doesn't tell that there is no package")
				}
				return
			}
			_, text, _ := strings.Cut(card, `"><code>`)
			text, _, _ = strings.Cut(text, "</code>")
			var config struct {
				MCPServers map[string]struct {
					Command string
					Args    []string
					Env     map[string]string
				}
			}
			if err := json.Unmarshal([]byte(html.UnescapeString(text)), &config); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			entry := config.MCPServers[tc.name]
			if got := strings.Join(append([]string{entry.Command}, entry.Args...), " "); got != tc.want || len(entry.Env) != 1 || entry.Env["KEY"] != "${KEY}" {
				t.Errorf("entry = %+v", entry)
			}
			for _, want := range []string{`aria-label="Command line"><code>` + tc.want + "</code>", "gateway serve --local servers.json", "Set KEY in the environment", "Optional: REGION."} {
				if !strings.Contains(card, want) {
					t.Errorf("card lacks %s", want)
				}
			}
		})
	}
}

func TestClosestMatches(t *testing.T) {
	a := newApp(t)
	cookie, _ := administrator(t, a)
	const notice = "No server has all of these words. Closest:"
	answer := get(t, a, query("/registry", "posgres"), 200, "Cookie", cookie)
	for _, want := range []string{notice, `href="/registry/neon/neon"`, "more run as a program.", `href="/registry?query=posgres&amp;works=0"`, `content="noindex, follow"`} {
		if !strings.Contains(answer.Body, want) {
			t.Errorf("page lacks %s", want)
		}
	}
	if strings.Contains(answer.Body, "Pages of the list") {
		t.Error("closest servers have pages")
	}
	if body := get(t, a, query("/registry", "posgres"), 200).Body; !strings.Contains(body, `href="/registry/crystaldba/postgres-mcp-pro"`) || len(cards(body)) != catalog.MaxClosest {
		t.Errorf("visitors see %v", cards(body))
	}
	// Facets narrow the closest servers.
	remote := get(t, a, query("/registry", "posgres transport:http"), 200).Body
	if !strings.Contains(remote, notice) || slices.Contains(cards(remote), "/registry/crystaldba/postgres-mcp-pro") || !slices.Contains(cards(remote), "/registry/neon/neon") {
		t.Errorf("the remote closest servers are %v", cards(remote))
	}
	for _, text := range []string{"zzzzzzzz", "tag:nothing"} {
		if body := get(t, a, query("/registry", text), 200).Body; strings.Contains(body, notice) || len(cards(body)) > 0 {
			t.Errorf("%q has close servers: %v", text, cards(body))
		}
	}
	if body := get(t, a, query("/registry", "kubectl"), 200, "Cookie", cookie).Body; !strings.Contains(body, "1 server runs as a program.") || strings.Contains(body, notice) {
		t.Error("a server that only runs as a program isn't offered")
	}
	hostile := get(t, a, query("/registry", "<b>posgres"), 200).Body
	if !strings.Contains(hostile, notice) || strings.Contains(hostile, "<b>posgres") {
		t.Error("the query is not escaped")
	}
}

func TestServerPages(t *testing.T) {
	a := newApp(t)
	for _, s := range public.Servers(a.Services.Catalog.AllEntries()) {
		body := get(t, a, s.Path(), 200).Body
		if !strings.Contains(body, html.EscapeString(s.PublisherName+"/"+s.ServerName)) {
			t.Errorf("%s lacks the server name", s.Path())
		}
		if says := strings.Contains(body, "Runs as a program. "); says != s.Local() {
			t.Errorf("%s: note about local servers = %t", s.Path(), says)
		}
		if card := strings.Contains(body, "Run it here</h2>"); card != s.RunsHere() || strings.Contains(body, "Its publisher names no package.") != (s.Local() && !card) {
			t.Errorf("%s: card Run it here = %t", s.Path(), card)
		}
		if len(body) > 60_000 {
			t.Errorf("%s has %d bytes", s.Path(), len(body))
		}
		if d := data(t, body); d["@type"] != "SoftwareApplication" || d["url"] != "http://127.0.0.1:8080"+s.Path() {
			t.Errorf("%s: linked data %v", s.Path(), d)
		}
	}
}

func TestShownServerFileCanBeApplied(t *testing.T) {
	a := newApp(t)
	for _, s := range public.Servers(a.Services.Catalog.AllEntries()) {
		if s.Local() {
			continue
		}
		_, rest, _ := strings.Cut(get(t, a, s.Path(), 200).Body, `aria-label="server.json"><code>`)
		text, _, found := strings.Cut(rest, "</code>")
		if !found {
			t.Fatalf("%s lacks the file", s.Path())
		}
		if _, err := declaration.Parse([]byte(html.UnescapeString(text))); err != nil {
			t.Errorf("file of %s: %v", s.Path(), err)
		}
	}
}

func TestMissingServerSuggestsSimilar(t *testing.T) {
	a := newApp(t)
	for path, want := range map[string]string{
		"/registry/asana/asna":                    "/registry/asana/asana",
		"/registry/nobody/atlassian":              "/registry/atlassian/atlassian",
		"/registry/x/" + strings.Repeat("a", 500): "/registry",
	} {
		answer := get(t, a, path, 404)
		if !strings.Contains(answer.Body, `href="`+want+`"`) || !strings.Contains(answer.Body, answer.Header.Get("X-Request-Id")) {
			t.Errorf("%s lacks a link to %s", path, want)
		}
	}
}

func TestHiddenServerNotFound(t *testing.T) {
	a := newApp(t)
	e := a.Services.Catalog.AllEntries()[0]
	path := public.CatalogEntry{CatalogEntry: e}.Path()
	if err := a.Services.CatalogStore.SetHidden(t.Context(), e.ID, true); err != nil {
		t.Fatal(err)
	}
	get(t, a, path, 404)
	for _, list := range []string{"/registry", "/sitemap.xml", "/feed.atom", "/"} {
		if strings.Contains(get(t, a, list, 200).Body, path+`"`) {
			t.Errorf("%s still lists the hidden server", list)
		}
	}
}

func TestOnlyAdministratorsSeeControls(t *testing.T) {
	a := newApp(t)
	a.Apply(t, `{"projects":{"team":{"name":"The <b>team","authMode":"none","mcpServers":{}}}}`)
	cookie, _ := administrator(t, a)
	for _, path := range []string{"/registry/asana/asana", "/templates/billing-support"} {
		if body := get(t, a, path, 200).Body; strings.Contains(body, "<form method=\"post\"") || strings.Contains(body, "csrf") {
			t.Errorf("%s has a form for visitors", path)
		}
		answer := get(t, a, path, 200, "Cookie", cookie)
		if strings.Count(answer.Body, `name="csrf" value="`) < 2 {
			t.Errorf("%s has no forms for administrators", path)
		}
		if answer.Header.Get("Cache-Control") != "private, no-cache" || !strings.Contains(answer.Header.Get("Vary"), "Cookie") {
			t.Errorf("%s is cacheable: %v", path, answer.Header)
		}
	}
	asana, err := a.Services.Catalog.EntryByName("asana", "asana")
	if err != nil {
		t.Fatal(err)
	}
	id := asana.ID
	body := get(t, a, "/registry/asana/asana", 200, "Cookie", cookie).Body
	for _, want := range []string{
		`action="/admin/catalog/add"`, `name="id" value="` + id, `<option value="team" selected>The &lt;b&gt;team</option>`,
		`/feature"`, `/verify"`, `/hide"`, `/edit"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("page for administrators lacks %s", want)
		}
	}
}

func TestPageRevalidation(t *testing.T) {
	a := newApp(t)
	for _, path := range []string{"/", "/registry", "/registry/asana/asana", "/templates", "/templates/billing-support"} {
		first := get(t, a, path, 200)
		tag := first.Header.Get("ETag")
		if tag == "" || first.Header.Get("Cache-Control") != "public, max-age=60" || !strings.Contains(first.Header.Get("Vary"), "Cookie") {
			t.Errorf("%s: %v", path, first.Header)
		}
		if again := get(t, a, path, 304, "If-None-Match", tag); again.Body != "" {
			t.Errorf("%s: body sent again", path)
		}
	}
}

func TestCatalogTextEscaped(t *testing.T) {
	a := newApp(t)
	const evil = `"><script>alert(1)</script>` + "\u202e\u200b" + `' onload=x`
	title, tags := evil, []string{`a"b\c d`}
	e := a.Services.Catalog.AllEntries()[0]
	if err := a.Services.CatalogStore.Edit(t.Context(), e.ID, catalog.Edit{ServerTitle: &title, PublisherTitle: &title, Description: &title, Tags: &tags}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{public.CatalogEntry{CatalogEntry: e}.Path(), "/registry", "/", "/feed.atom"} {
		webtest.Check(t, webtest.Case{Status: 200, NotBody: []string{"<script>alert", "\u202e", "\u200b", `"> onload`}}, get(t, a, path, 200))
	}
	item := get(t, a, public.CatalogEntry{CatalogEntry: e}.Path(), 200).Body
	link := "/registry?query=" + url.QueryEscape(`tag:"a\"b\\c d"`)
	if !strings.Contains(item, `href="`+html.EscapeString(link)+`"`) {
		t.Errorf("tag lacks the link %s", link)
	}
	if body := get(t, a, link, 200).Body; !slices.Equal(cards(body), []string{public.CatalogEntry{CatalogEntry: e}.Path()}) {
		t.Errorf("link of the tag finds %v", cards(body))
	}
}

func TestPageRateLimit(t *testing.T) {
	a := newApp(t)
	statuses := map[int]int{}
	begin := time.Now()
	// On a slow machine more than 100 succeed first: the bucket holds 100 and
	// refills at 20/s.
	for range 5000 {
		answer := webtest.Send(t, a.App, webtest.Case{Path: "/templates/billing-support", Header: map[string]string{"X-Forwarded-For": "203.0.113.7"}})
		if statuses[answer.Status]++; answer.Status != 200 {
			break
		}
	}
	most := 101 + int(20*time.Since(begin).Seconds())
	if statuses[200] < 100 || statuses[200] > most || statuses[429] != 1 {
		t.Errorf("statuses %v, want 100 to %d times 200", statuses, most)
	}
}

func TestCatalogForRoles(t *testing.T) {
	a := newApp(t)
	a.Apply(t, `{"projects":{"team":{"authMode":"none","mcpServers":{}}}}`)
	cookie, _ := administrator(t, a)
	const sources, add, declare = `<a href="/admin/catalog">Sources`, `action="/admin/catalog/add"`, "gateway apply -f server.json"
	for _, tc := range []struct {
		role, cookie, home string
		want, not          []string
	}{
		{"admin", cookie, "/admin", []string{add}, []string{declare, "Sign in to add it", `action="/me/requests"`}},
		{"viewer", signedIn(t, a, "viewer"), "/admin", []string{declare, `action="/me/requests"`}, []string{add, "Sign in to add it"}},
		{"member", signedIn(t, a, "member"), "/me", []string{declare, `action="/me/requests"`}, []string{add, "Sign in to add it"}},
	} {
		if answer := get(t, a, "/", 303, "Cookie", tc.cookie); answer.Header.Get("Location") != tc.home || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: / leads to %q, %v", tc.role, answer.Header.Get("Location"), answer.Header)
		}
		list := get(t, a, "/registry", 200, "Cookie", tc.cookie)
		if got := strings.Contains(list.Body, sources); got != (tc.role != "member") || !strings.Contains(list.Body, `<body class="shell">`) {
			t.Errorf("%s: tab of the sources = %t, or no side bar", tc.role, got)
		}
		if list.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: Cache-Control is %q", tc.role, list.Header.Get("Cache-Control"))
		}
		webtest.Check(t, webtest.Case{Status: 200, WantBody: tc.want, NotBody: tc.not}, get(t, a, "/registry/asana/asana", 200, "Cookie", tc.cookie))
		for _, path := range []string{"/docs", "/docs/quick-start", "/templates"} {
			if body := get(t, a, path, 200, "Cookie", tc.cookie).Body; !strings.Contains(body, `<body class="shell">`) {
				t.Errorf("%s: %s has no side bar", tc.role, path)
			}
		}
	}
	visitor := get(t, a, "/registry/asana/asana", 200).Body
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{declare, "Sign in to add it", `<header class="top">`}, NotBody: []string{add, "/admin/catalog"}}, webtest.Response{Status: 200, Body: visitor})
}
