package public_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"image/png"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/notify"
	"mcpgateway/views/public"
)

// emptyCatalog returns the application without the built-in catalog.
func emptyCatalog(t *testing.T, settings ...string) *routestest.App {
	t.Helper()
	return routestest.New(t, modelstest.SQLite(t), append(settings, "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32")...)
}

// importRows imports rows of the catalog's own format, each with its members
// besides the name and type.
func importRows(t *testing.T, a *routestest.App, rows ...map[string]any) {
	t.Helper()
	for _, r := range rows {
		for name, value := range map[string]any{"publisherName": "p", "serverType": "http", "authType": "none", "remoteUrl": fmt.Sprintf("https://%v.example.com/mcp", r["serverName"])} {
			if _, set := r[name]; !set {
				r[name] = value
			}
		}
		if r["serverType"] == "stdio" {
			delete(r, "remoteUrl")
		}
	}
	raw, err := json.Marshal(map[string]any{"version": 1, "items": rows})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Services.CatalogStore.ImportFile(t.Context(), raw, false); err != nil {
		t.Fatal(err)
	}
}

// check stores the last check of p/name.
func check(t *testing.T, a *routestest.App, name string, c models.CatalogCheck) {
	t.Helper()
	e, err := a.Services.Catalog.EntryByName("p", name)
	if err != nil {
		t.Fatal(err)
	}
	c.EntryID = e.ID
	if c.CheckedAt.IsZero() {
		c.CheckedAt = time.Now().UTC()
	}
	db := a.Services.DB.WithContext(t.Context())
	if err := db.Save(&c).Error; err != nil {
		t.Fatal(err)
	}
	if err := notify.Touch(db, notify.Catalog()); err != nil {
		t.Fatal(err)
	}
	if err := a.Services.Catalog.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestServerFacts(t *testing.T) {
	a := emptyCatalog(t)
	importRows(t, a,
		map[string]any{"serverName": "own-app", "authType": "oauth", "oauthDynamicRegistration": false},
		map[string]any{"serverName": "registers", "authType": "oauth", "oauthDynamicRegistration": true, "altRemoteUrl": "https://registers.example.com/sse"},
		map[string]any{"serverName": "header", "authType": "header", "authHeader": "X-Key", "verified": true, "verifiedEvidence": "remote host is on the publisher domain example.com"},
		map[string]any{"serverName": "program", "serverType": "stdio", "license": "MIT", "lastReleaseAt": "2025-03-19", "packageSource": "list",
			"packages": []any{map[string]any{"type": "npm", "identifier": "@p/mcp", "needs": "the <folders> that it may use"}, map[string]any{"type": "oci", "identifier": "p/mcp"}},
			"env":      []any{map[string]any{"name": "KEY", "required": true, "secret": true}},
			"tools":    []any{map[string]any{"name": "look", "readOnly": true}, map[string]any{"name": "change", "readOnly": false}, map[string]any{"name": "other"}}},
		map[string]any{"serverName": "repository", "serverType": "stdio", "packageSource": "repository", "packages": []any{map[string]any{"type": "npm", "identifier": "x"}}},
		map[string]any{"serverName": "registry", "serverType": "stdio", "packageSource": "registry", "packages": []any{map[string]any{"type": "npm", "identifier": "y"}}},
	)
	for name, want := range map[string][]string{
		"own-app":    {"OAuth; the provider needs an app of your own"},
		"registers":  {"OAuth; clients register automatically", "<dt>Older URL</dt>", "https://registers.example.com/sse"},
		"header":     {"An API key, sent in the header X-Key", "Its domain serves the endpoint", "Catalog publisher", "Verified: example.com"},
		"repository": {"Its repository names it"},
		"registry":   {"The official MCP registry names it"},
		"program": {
			"<dt>License</dt>", ">MIT<", "19 Mar 2025", "A public list names it", "npm: @p/mcp", "oci: p/mcp", "<dt>Command line</dt>", ">Add the &lt;folders&gt; that it may use<",
			">1 read<", ">1 write<", ">Read</h3>", ">Write</h3>", ">Not declared</h3>", "<dt>Needs</dt>",
		},
	} {
		body := strings.ReplaceAll(get(t, a, "/registry/p/"+name, 200).Body, "<wbr>", "")
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %s", name, text)
			}
		}
	}
	if body := get(t, a, "/registry/p/own-app", 200).Body; strings.Contains(body, "Report a problem") || strings.Contains(body, "command line:") || strings.Contains(body, "<dt>License</dt>") {
		t.Error("page has facts that nobody gave")
	}
	program := get(t, a, "/registry/p/program", 200).Body
	if n := strings.Count(program, "Add to its command line: the &lt;folders&gt; that it may use."); n < 9 {
		t.Errorf("%d snippets name what users add", n)
	}
	d := data(t, program)
	if d["license"] != "https://spdx.org/licenses/MIT.html" || d["dateModified"] != "2025-03-19" || d["featureList"] != "look, change, other" || d["image"] != "http://127.0.0.1:8080/registry/p/program/card.png" {
		t.Errorf("linked data = %v", d)
	}
	if !strings.Contains(program, `<meta property="og:image" content="http://127.0.0.1:8080/registry/p/program/card.png"`) {
		t.Error("page lacks its picture")
	}
}

func TestCheckedToolsShowParameters(t *testing.T) {
	a := emptyCatalog(t)
	importRows(t, a, map[string]any{"serverName": "open", "toolNames": []string{"old_tool"}})
	var many []string
	for i := range 13 {
		many = append(many, fmt.Sprintf("p%d", i))
	}
	check(t, a, "open", models.CatalogCheck{State: models.CheckReachable, Tools: models.CheckedTools{
		{Name: "look_up", ReadOnly: new(true), Parameters: []string{"query", "<b>limit"}, Tokens: 1234},
		{Name: "change", ReadOnly: new(false), Parameters: many},
		{Name: "evil\u202e<script>"},
	}})
	body := get(t, a, "/registry/p/open", 200).Body
	for _, want := range []string{"query, &lt;b&gt;limit", ">1,234<", ">Read<", ">Write<", ">Not declared<", "p10, p11 and 1 more", "evil&lt;script&gt;", ">None<"} {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %s", want)
		}
	}
	if strings.Contains(body, "old_") || strings.Contains(body, ", p12") {
		t.Error("page shows tools or parameters that it should not")
	}
	if text := get(t, a, "/registry/p/open/llms.txt", 200).Body; !strings.Contains(text, "- look_up (read): query, \\<b>limit\n") || strings.Contains(text, "\u202e") {
		t.Errorf("text: %s", text)
	}
}

func TestToolsOnPageAreLimited(t *testing.T) {
	a := emptyCatalog(t)
	for _, n := range []int{199, 200, 201} {
		tools := make([]any, n)
		for i := range tools {
			tools[i] = map[string]any{"name": fmt.Sprintf("tool%03d.", i), "readOnly": i%2 == 0}
		}
		name := fmt.Sprintf("with-%d", n)
		importRows(t, a, map[string]any{"serverName": name, "tools": tools})
		for _, path := range []string{"/registry/p/" + name, "/registry/p/" + name + "/llms.txt"} {
			body := strings.ReplaceAll(get(t, a, path, 200).Body, "<wbr>", "")
			if last := strings.Contains(body, fmt.Sprintf("tool%03d.", min(n, 200)-1)); !last || strings.Contains(body, "and 1 more") != (n > 200) {
				t.Errorf("%s: last tool %t", path, last)
			}
		}
	}
}

func TestUsedInProjects(t *testing.T) {
	a := emptyCatalog(t)
	importRows(t, a, map[string]any{"serverName": "shared"}, map[string]any{"serverName": "unused"})
	const url = "https://shared.example.com/mcp"
	a.Apply(t, fmt.Sprintf(`{"projects":{"alpha-x":{"authMode":"none","mcpServers":{"s":{"url":"%s"}}},"beta-x":{"authMode":"none","mcpServers":{"s":{"url":"%s"}}},"gamma-x":{"authMode":"none","mcpServers":{}}}}`, url, url))
	admin, _ := administrator(t, a)
	member, viewer := signedIn(t, a, "member"), signedIn(t, a, "viewer")
	for _, tc := range []struct {
		name, cookie, used string
		names, form        bool
	}{
		{"visitor", "", "", false, false},
		{"member", member, "2 projects here", false, false},
		{"viewer", viewer, "2 projects here", true, false},
		{"administrator", admin, "2 projects here", true, true},
	} {
		body := get(t, a, "/registry/p/shared", 200, "Cookie", tc.cookie).Body
		if strings.Contains(body, "<dt>Used in</dt>") != (tc.used != "") || !strings.Contains(body, tc.used) {
			t.Errorf("%s: used in %q", tc.name, tc.used)
		}
		if strings.Contains(body, "Already in alpha-x and beta-x.") != tc.names || !tc.names && strings.Contains(body, "alpha-x") {
			t.Errorf("%s: names of projects = %t", tc.name, !tc.names)
		}
		if strings.Contains(body, `action="/admin/catalog/add"`) != tc.form || tc.form && !strings.Contains(body, `<option value="gamma-x" selected>`) {
			t.Errorf("%s: form = %t", tc.name, !tc.form)
		}
		if body := get(t, a, "/registry/p/unused", 200, "Cookie", tc.cookie).Body; strings.Contains(body, "<dt>Used in</dt>") {
			t.Errorf("%s: an unused server is used", tc.name)
		}
	}
}

func TestMaintainerAddsToTheirProjects(t *testing.T) {
	a := routestest.NewAdmin(t)
	importRows(t, a.App, map[string]any{"serverName": "issues"})
	a.Apply(t, `{"projects":{"theirs":{"name":"Only theirs","authMode":"none","mcpServers":{}},"hidden":{"name":"Hidden","authMode":"none","mcpServers":{"s":{"url":"https://issues.example.com/mcp"}}}}}`)
	mia, id := a.Join(t, "mia@example.com", "Mia", models.RoleMember)
	a.Grant(t, "theirs", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: id, Role: models.GrantMaintain})
	_, body, _ := mia.Send(t, "/registry/p/issues", nil)
	e, err := a.Services.Catalog.EntryByName("p", "issues")
	if err != nil {
		t.Fatal(err)
	}
	to := "/admin/projects/theirs/servers/new?entry=" + e.ID
	if !strings.Contains(body, `href="`+to+`"`) || !strings.Contains(body, "Add to Only theirs") {
		t.Error("page lacks the link to add it")
	}
	if strings.Contains(body, "Hidden") || strings.Contains(body, "Already in") || !strings.Contains(body, "1 project here") {
		t.Error("page names a project that the maintainer can't see")
	}
	if status, body, _ := mia.Send(t, to, nil); status != 200 || !strings.Contains(body, "https://issues.example.com/mcp") {
		t.Errorf("%s: %d", to, status)
	}
}

func TestReportLink(t *testing.T) {
	for setting, want := range map[string]string{
		"https://issues.example.com/new":                    "https://issues.example.com/new?row=p%2Fdocs",
		"https://issues.example.com/new?template=row&row=x": "https://issues.example.com/new?row=p%2Fdocs&template=row",
		"mailto:catalog@example.com":                        "mailto:catalog@example.com?subject=p%2Fdocs",
		"mailto:catalog@example.com?subject=Catalog row":    "mailto:catalog@example.com?subject=Catalog%20row%20p%2Fdocs",
	} {
		a := emptyCatalog(t, "GATEWAY_CATALOG_REPORT_URL="+setting)
		importRows(t, a, map[string]any{"serverName": "docs"})
		if body := get(t, a, "/registry/p/docs", 200).Body; !strings.Contains(body, `<a href="`+html.EscapeString(want)+`"`) {
			t.Errorf("%s: page lacks %s", setting, want)
		}
	}
}

func TestRelatedServers(t *testing.T) {
	a := emptyCatalog(t)
	row := func(publisher, name, status string, tags ...string) map[string]any {
		return map[string]any{"publisherName": publisher, "serverName": name, "tags": tags, "status": status}
	}
	rows := []map[string]any{row("p", "mine", "active", "rare", "usual"), row("p", "sister", "active"), row("q", "close", "active", "rare"), row("q", "old", "deprecated", "rare"), row("q", "far", "active", "else")}
	for i := range 8 {
		rows = append(rows, row("q", fmt.Sprintf("usual-%d", i), "active", "usual"))
	}
	importRows(t, a, rows...)
	_, body, _ := strings.Cut(get(t, a, "/registry/p/mine", 200).Body, "Related servers</h2>")
	body, _, _ = strings.Cut(body, "</section>")
	var at []int
	for _, name := range []string{"/registry/q/close", "/registry/q/usual-0"} {
		at = append(at, strings.Index(body, `href="`+name+`"`))
	}
	if at[0] < 0 || at[1] < at[0] || strings.Count(body, "<li>") != 6 {
		t.Errorf("related servers: %v of %d: %s", at, strings.Count(body, "<li>"), body)
	}
	for _, name := range []string{"/registry/p/mine", "/registry/q/old", "/registry/q/far"} {
		if strings.Contains(body, `href="`+name+`"`) {
			t.Errorf("%s is related", name)
		}
	}
	if body := get(t, a, "/registry/q/far", 200).Body; !strings.Contains(body, "Related servers") {
		t.Error("servers of a publisher aren't related")
	}
}

func TestStatusBadge(t *testing.T) {
	a := emptyCatalog(t)
	title := `<script>&"` + strings.Repeat("w", 50)
	importRows(t, a,
		map[string]any{"serverName": "a"}, map[string]any{"serverName": "b"}, map[string]any{"serverName": "c"}, map[string]any{"serverName": "d", "serverTitle": title},
		map[string]any{"serverName": "e", "status": "deprecated"}, map[string]any{"serverName": "f"},
	)
	since := time.Date(2026, 9, 3, 23, 0, 0, 0, time.UTC)
	check(t, a, "a", models.CatalogCheck{State: models.CheckReachable})
	check(t, a, "b", models.CatalogCheck{State: models.CheckSignIn})
	check(t, a, "c", models.CatalogCheck{State: models.CheckFailed, FailingSince: &since})
	check(t, a, "e", models.CatalogCheck{State: models.CheckReachable})
	check(t, a, "f", models.CatalogCheck{State: models.CheckFailed, CheckedAt: since})
	for name, want := range map[string]string{
		"a": "reachable", "b": "sign-in required", "c": "failing since 3 Sep 2026", "d": "not checked", "e": "deprecated", "f": "failing since 3 Sep 2026",
	} {
		answer := get(t, a, "/registry/p/"+name+"/badge.svg", 200)
		var image struct {
			Title string `xml:"title"`
			Texts []struct {
				Text   string `xml:",chardata"`
				Length string `xml:"textLength,attr"`
			} `xml:"g>text"`
		}
		if err := xml.Unmarshal([]byte(answer.Body), &image); err != nil {
			t.Fatalf("%s: %v: %s", name, err, answer.Body)
		}
		if len(image.Texts) != 2 || image.Texts[1].Text != want || image.Texts[1].Length == "" {
			t.Errorf("%s: texts %v, want %s", name, image.Texts, want)
		}
		if strings.Contains(answer.Body, "<script") || len([]rune(image.Texts[0].Text)) > 40 {
			t.Errorf("%s: %s", name, answer.Body)
		}
		h := answer.Header
		if h.Get("Content-Type") != "image/svg+xml; charset=utf-8" || h.Get("Cache-Control") != "public, max-age=300" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Set-Cookie") != "" {
			t.Errorf("%s: headers %v", name, h)
		}
		get(t, a, "/registry/p/"+name+"/badge.svg", 304, "If-None-Match", h.Get("ETag"))
	}
}

func TestRowFilesOfMissingServers(t *testing.T) {
	a := newApp(t)
	e := a.Services.Catalog.AllEntries()[0]
	if err := a.Services.CatalogStore.SetHidden(t.Context(), e.ID, true); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"/registry/nobody/nothing", public.CatalogEntry{CatalogEntry: e}.Path()} {
		for _, file := range []string{"/badge.svg", "/llms.txt", "/card.png"} {
			get(t, a, base+file, 404)
		}
	}
}

func TestRowFilesOfEveryServer(t *testing.T) {
	a := newApp(t)
	for _, s := range public.Servers(a.Services.Catalog.AllEntries()) {
		text := get(t, a, s.TextPath(), 200).Body
		if !strings.HasPrefix(text, "# ") || !strings.Contains(text, "\n> ") || !strings.Contains(text, "- Name: "+s.PublisherName+"/"+s.ServerName+"\n") {
			t.Fatalf("%s: %s", s.TextPath(), text)
		}
		if err := xml.Unmarshal([]byte(get(t, a, s.Path()+"/badge.svg", 200).Body), new(struct{})); err != nil {
			t.Errorf("badge of %s: %v", s.Path(), err)
		}
	}
}

func TestListForModels(t *testing.T) {
	a := newApp(t)
	list := get(t, a, "/llms.txt", 200).Body
	servers := public.Servers(a.Services.Catalog.AllEntries())
	for i, want := range map[int]bool{0: true, 99: true, 100: false} {
		if strings.Contains(list, "](http://127.0.0.1:8080"+servers[i].TextPath()+"): ") != want {
			t.Errorf("server %d is listed = %t", i+1, !want)
		}
	}
	for _, want := range []string{"# Gateway\n", "/docs/quick-start.md)", "## Catalog", "http://127.0.0.1:8080/api/registry?query=github", "http://127.0.0.1:8080/v0.1/servers"} {
		if !strings.Contains(list, want) {
			t.Errorf("list lacks %s", want)
		}
	}
}

func TestServerTextEscaped(t *testing.T) {
	a := emptyCatalog(t)
	importRows(t, a, map[string]any{"serverName": "evil", "serverTitle": "A](https://x.example) <b>", "description": "Finds.\n# Heading `x` *y* [z](u)\u202e"})
	text := get(t, a, "/registry/p/evil/llms.txt", 200).Body
	if strings.Count(text, "\n#") > 0 || strings.Contains(text, "\u202e") || !strings.Contains(text, `\[z\](u)`) || !strings.HasPrefix(text, `# A\](https://x.example) \<b>`) {
		t.Errorf("text: %s", text)
	}
	if list := get(t, a, "/llms.txt", 200).Body; !strings.Contains(list, `- [A\](https://x.example) \<b>](http://127.0.0.1:8080/registry/p/evil/llms.txt): `) {
		t.Error("the list doesn't escape the title")
	}
}

func TestServerPicture(t *testing.T) {
	a := emptyCatalog(t)
	importRows(t, a, map[string]any{"serverName": "one", "serverTitle": "One"}, map[string]any{"serverName": "two", "serverTitle": "Two", "description": "Two."})
	one, two := get(t, a, "/registry/p/one/card.png", 200), get(t, a, "/registry/p/two/card.png", 200)
	if again := get(t, a, "/registry/p/one/card.png", 200); again.Body != one.Body || one.Body == two.Body || one.Header.Get("ETag") == two.Header.Get("ETag") {
		t.Error("pictures are mixed up")
	}
	config, err := png.DecodeConfig(bytes.NewReader([]byte(one.Body)))
	if err != nil || config.Width != 1200 || config.Height != 630 {
		t.Errorf("picture %+v, %v", config, err)
	}
	if h := one.Header; h.Get("Content-Type") != "image/png" || h.Get("Cache-Control") != "public, max-age=86400" {
		t.Errorf("headers %v", h)
	}
	get(t, a, "/registry/p/one/card.png", 304, "If-None-Match", one.Header.Get("ETag"))
}
