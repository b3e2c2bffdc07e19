package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/services/declaration"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/runners/connectors"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
)

// formWorld is an application with an object for every form.
type formWorld struct {
	*browser
	upstream, source string // addresses of an MCP server and of a catalog
	project          *models.Project
	entry, template  string
	undo             string // token that reverts the last approvals
}

// hashOf returns the hash of the definition of a tool.
func (w *formWorld) hashOf(name string) string {
	p, err := w.Services.Directory.Project("p")
	if err != nil {
		return ""
	}
	tool, err := p.Resolve(name)
	if err != nil {
		return ""
	}
	return tool.Hash
}

// fill creates the objects that the forms change.
func (w *formWorld) fill(t *testing.T) {
	t.Helper()
	w.upstream = upstreamtest.New(demo.Servers()[0]).Start(t)
	catalog := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(`{"version":1,"items":[]}`))
	}))
	t.Cleanup(catalog.Close)
	w.source = catalog.URL
	w.Apply(t, fmt.Sprintf(`{"projects":{
		"p":{"authMode":"api_key","codeMode":{"enabled":true,"timeout":10000},"mcpServers":{
			"clock":{"url":%q},"held":{"url":%q,"definitionPolicy":"approve"},"kept":{"url":%q,"authType":"bearer","authBearer":"x"},
			"own":{"url":%q,"authType":"bearer","connection":"personal"},
			"oauth":{"url":"https://mcp.example.com/mcp","authType":"oauth","oauth":{"clientId":"c"}}}},
		"gone":{"authMode":"none","mcpServers":{}}}}`, w.upstream, w.upstream, w.upstream, w.upstream))
	w.Sync(t, "p", "clock", "held")
	p, err := w.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	w.project = &p.Project
	for _, e := range w.Services.Catalog.AllEntries() {
		if w.entry == "" && e.RemoteURL != "" && e.AuthType == "oauth" {
			w.entry = e.ID
		}
	}
	w.template = "slug"
	if all := w.Services.Catalog.AllTemplates(); len(all) > 0 {
		w.template = all[0].Slug
	}
}

// formCase is a form of the administration and its prerequisites.
type formCase struct {
	route, guard string
	variant      string
	careful      bool // the handler itself requires a confirmation
	ends         bool // the form ends the session
	shows        int  // status of a response that is not a redirect
	want         string
	make         func(t *testing.T, w *formWorld) (path string, form url.Values)
}

func (f formCase) status() int {
	if f.shows != 0 {
		return f.shows
	}
	return http.StatusSeeOther
}

// at returns a form with a fixed URL.
func at(path string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(*testing.T, *formWorld) (string, url.Values) { return path, values(fields...) }
}

// onDestination posts to a new destination of events.
func onDestination(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		row, _, err := w.Services.Destinations.Create(t.Context(), destinations.New{
			Name: "Hook" + rest, Kind: models.DestinationWebhook, Address: secrets.NewValue("http://127.0.0.1:1/hook"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return "/admin/destinations/" + row.ID + rest, values(fields...)
	}
}

func values(fields ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return form
}

// onServer returns a form of a server's page.
func onServer(alias, rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		return "/admin/projects/p/servers/" + w.ServerID(t, "p", alias) + rest, values(fields...)
	}
}

// onOwn returns a form about the administrator's own connection to a server.
// Syncs don't use it, because they would also write to the audit log.
func onOwn(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		id, admin := w.ServerID(t, "p", "own"), w.userID(t, formAdmin)
		if rest == "" {
			return "/me/connections/" + id, values(fields...)
		}
		if err := w.Services.OwnAccounts.StoreToken(t.Context(), admin, id, oauthclient.PersonalToken{Bearer: secrets.NewValue("a-token")}); err != nil {
			t.Fatal(err)
		}
		form := values(fields...)
		if form.Has("person") {
			form.Set("person", admin)
		}
		return "/admin/projects/p/servers/" + id + strings.ReplaceAll(rest, ":personId", admin), form
	}
}

// userID returns the ID of the user with an email address.
func (w *formWorld) userID(t *testing.T, email string) string {
	t.Helper()
	people, err := w.Services.People.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range people {
		if p.Email == email {
			return p.ID
		}
	}
	t.Fatalf("no user %s", email)
	return ""
}

// onPerson returns a form of a new user's page.
func onPerson(name, rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		person, err := w.Services.People.Create(t.Context(), access.NewUser{Email: name + "@example.com", Role: models.RoleViewer, Password: secrets.NewValue(password)})
		if err != nil {
			t.Fatal(err)
		}
		if rest == "/reset-factors" {
			addApp(t, w.App, person)
		}
		if rest == "/enable" {
			if err := w.Services.People.Disable(t.Context(), person.ID); err != nil {
				t.Fatal(err)
			}
		}
		form := values(fields...)
		if form.Has("subject") {
			form.Set("subject", "person:"+person.ID)
			return "/admin/projects/p/access/grants", form
		}
		if rest == "/remove" {
			if err := w.Services.People.AddMember(t.Context(), w.project.ID, person.ID); err != nil {
				t.Fatal(err)
			}
			return "/admin/projects/p/access/grants/member-" + person.ID + rest, form
		}
		return "/admin/people/" + person.ID + rest, form
	}
}

// onGroup returns a form of a new group's page. Its member is the administrator.
func onGroup(name, rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		group, err := w.Services.Groups.Create(t.Context(), groups.Fields{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		form := values(fields...)
		if form.Has("person") {
			people, err := w.Services.People.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			form.Set("person", people[0].ID)
			if err := w.Services.Groups.AddMember(t.Context(), group.ID, people[0].ID); rest == "/members/remove" && err != nil {
				t.Fatal(err)
			}
		}
		return "/admin/groups/" + group.ID + rest, form
	}
}

// onKey returns a form of a new key.
func onKey(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		id, _ := w.Key(t, "p", time.Hour)
		return "/admin/projects/p/keys/" + id + rest, values(fields...)
	}
}

// onConnector returns a form of a new connector.
func onConnector(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		row, _, err := w.Services.Connectors.Create(t.Context(), w.project.ID, connectors.Attributes{Name: "desk", Lifetime: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return "/admin/projects/p/connectors/" + row.ID + rest, values(fields...)
	}
}

// onToolset returns a form of a new toolset.
func onToolset(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		slug := "set" + strings.ReplaceAll(rest, "/", "-")
		row, err := w.Services.Toolsets.Get(t.Context(), w.project.ID, slug)
		if err != nil {
			row, err = w.Services.Toolsets.Create(t.Context(), "p", slug, &declaration.Toolset{})
		}
		if err != nil {
			t.Fatal(err)
		}
		return "/admin/projects/p/toolsets/" + row.ID + rest, values(fields...)
	}
}

// onRecipe returns a form of a new recipe with two versions.
func onRecipe(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		name := "recipe" + strings.ReplaceAll(rest, "/", "_")
		row, err := w.Services.Recipes.Named(t.Context(), w.project.ID, name)
		if err != nil {
			text, code := "Returns 1", "return 1;"
			if row, err = w.Services.Recipes.Create(t.Context(), "p", name, &declaration.Recipe{Description: &text, Code: &code}); err == nil {
				code = "return 2;"
				_, err = w.Services.Recipes.Update(t.Context(), "p", row.ID, &declaration.Recipe{Code: &code})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return "/admin/projects/p/code-mode/recipes/" + row.ID + rest, values(fields...)
	}
}

// onProposal returns a form of a proposed recipe.
func onProposal(rest string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		row, err := w.Services.Recipes.Propose(t.Context(), "p", models.RecipeProposal{
			Name: "proposed", Description: "Returns 1", InputSchema: `{"type":"object"}`, Code: "return 1;", Effect: models.RecipeReads, Principal: "key:k" + rest,
		})
		if err != nil {
			t.Fatal(err)
		}
		return "/admin/projects/p/code-mode/proposals/" + row.ID + rest, values()
	}
}

// onSource returns a form of the last catalog source.
func onSource(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		sources, err := w.Services.CatalogStore.Sources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			if s.URL == w.source {
				return "/admin/catalog/sources/" + s.ID + rest, values(fields...)
			}
		}
		t.Fatal("source is missing")
		return "", nil
	}
}

// onView returns a form of the list listed.
func onView(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		if _, err := w.Services.Registries.View(t.Context(), "listed"); err != nil {
			if _, err := w.Services.Registries.Create(t.Context(), registries.NewView{Name: "listed", Kind: models.ViewList}); err != nil {
				t.Fatal(err)
			}
		}
		return "/admin/catalog/views/listed" + rest, values(fields...)
	}
}

// onRequest returns a form of a new request for the entry.
func onRequest(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		n := requests.NewRequest{EntryID: w.entry, UserID: w.userID(t, formAdmin), Reason: rest}
		row, err := w.Services.Requests.Add(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		return "/admin/catalog/requests/" + row.ID + rest, values(fields...)
	}
}

func onConnection(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(t *testing.T, w *formWorld) (string, url.Values) {
		return "/admin/connections/" + w.ServerID(t, "p", "oauth") + rest, values(fields...)
	}
}

func onEntry(rest string, fields ...string) func(*testing.T, *formWorld) (string, url.Values) {
	return func(_ *testing.T, w *formWorld) (string, url.Values) {
		return "/admin/catalog/" + w.entry + rest, values(fields...)
	}
}

// forms returns the forms in an order in which the prerequisites of each are
// met.
func (w *formWorld) forms(t *testing.T) []formCase {
	t.Helper()
	const project, server = "/admin/projects/:projectSlug", "/admin/projects/:projectSlug/servers/:id"
	document := values("document", `{"version":1,"items":[{"publisherName":"ours","serverName":"kept","serverType":"stdio"}]}`)
	plan := values("declaration", `{"projects":{"imported":{"authMode":"none","mcpServers":{}}}}`)
	return []formCase{
		{route: "/me/account/sessions/:id/end", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			in, err := w.Services.People.SignIn(t.Context(), formAdmin, secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
			if err != nil {
				t.Fatal(err)
			}
			return "/me/account/sessions/" + in.Session.ID + "/end", url.Values{}
		}},
		{route: "/admin/people", guard: "careful", make: at("/admin/people", "email", "grace@example.com", "name", "Grace", "role", "viewer")},
		{route: "/admin/people", guard: "careful", variant: " refused", shows: http.StatusUnprocessableEntity, want: "Grace again",
			make: at("/admin/people", "email", "grace@example.com", "name", "Grace again", "role", "viewer")},
		{route: "/admin/people/:id/invite", guard: "careful", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			person, _, err := w.Services.People.Invite(t.Context(), access.NewUser{Email: "ida@example.com", Role: models.RoleViewer})
			if err != nil {
				t.Fatal(err)
			}
			return "/admin/people/" + person.ID + "/invite", url.Values{}
		}},
		{route: "/admin/people/:id", guard: "careful", make: onPerson("ben", "", "name", "Ben", "role", "member")},
		{route: "/admin/people/:id/reset", guard: "careful", make: onPerson("cleo", "/reset")},
		{route: "/admin/people/:id/reset-factors", guard: "careful", make: onPerson("ivy", "/reset-factors")},
		{route: "/admin/people/:id/done", make: onPerson("dora", "/done")},
		{route: "/admin/people/:id/disable", guard: "careful", make: onPerson("dan", "/disable")},
		{route: "/admin/people/:id/enable", guard: "careful", make: onPerson("eve", "/enable")},
		{route: "/admin/people/:id/delete", guard: "careful", make: onPerson("finn", "/delete", "confirm", "finn@example.com")},
		{route: "/admin/groups", guard: "careful", make: at("/admin/groups", "name", "Engineering", "claim", "eng", "role", "viewer")},
		{route: "/admin/groups", guard: "careful", variant: " refused", shows: http.StatusUnprocessableEntity, want: "Another group has this name",
			make: at("/admin/groups", "name", "engineering", "role", "none")},
		{route: "/admin/groups/:id", guard: "careful", make: onGroup("Ones", "", "name", "Firsts", "claim", "", "role", "member")},
		{route: "/admin/groups/:id/members", guard: "careful", make: onGroup("Twos", "/members", "person", "")},
		{route: "/admin/groups/:id/members/remove", guard: "careful", make: onGroup("Threes", "/members/remove", "person", "")},
		{route: "/admin/groups/:id/delete", guard: "careful", make: onGroup("Fours", "/delete", "confirm", "Fours")},

		{route: project + "/tools", make: at("/admin/projects/p/tools?x=1", "tool", "clock__current_time", "do", "off")},
		{route: project + "/tools/:name/enabled", make: at("/admin/projects/p/tools/clock__current_time/enabled", "enabled", "true")},
		{route: project + "/tools/:name/approve", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			shown := newBrowser(t, w.App).send(t, "/admin/projects/p/tools/held__current_time", nil)
			return "/admin/projects/p/tools/held__current_time/approve", values("hash", hiddenField(t, shown.Body, "hash"))
		}},
		{route: project + "/tools/review", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			w.undo = w.browser.post(t, "/admin/projects/p/tools/review", url.Values{"tool": w.review(t, "/admin/projects/p/tools/review")}).FlashUndo
			return "/admin/projects/p/tools/review", values("tool", "no-such hash", "undo", "1")
		}},
		{route: "/admin/undo", make: func(_ *testing.T, w *formWorld) (string, url.Values) {
			return "/admin/undo", values("form", w.undo)
		}},
		{route: project + "/tools/:name/overrides", make: at("/admin/projects/p/tools/clock__current_time/overrides", "title", "Now", "fixed", `{"zone":"UTC"}`)},
		{route: project + "/tools/:name/overrides", variant: " reference", careful: true, make: at("/admin/projects/p/tools/clock__current_time/overrides", "fixed", `{"zone":"${ZONE_TOKEN}"}`)},
		{route: project + "/tools/:name/overrides/reset", make: at("/admin/projects/p/tools/clock__current_time/overrides/reset")},
		{route: project + "/tools/:name/access", make: func(_ *testing.T, w *formWorld) (string, url.Values) {
			return "/admin/projects/p/tools/clock__current_time/access", values("hash", w.hashOf("clock__current_time"))
		}},
		{route: project + "/tools/:name/try", shows: http.StatusOK, want: "Europe/Berlin", make: at("/admin/projects/p/tools/clock__current_time/try", "as", "json", "arguments", `{"zone":"Europe/Berlin"}`)},
		{route: project + "/code-mode/settings", make: at("/admin/projects/p/code-mode/settings", "enabled", "on", "timeout", "9")},
		{route: project + "/code-mode/run", make: at("/admin/projects/p/code-mode/run", "code", "return 6 * 7;")},
		{route: project + "/code-mode/runs/:id/replay", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			runs, err := w.Services.CodeRuns.List(t.Context(), w.project.ID, "", 1)
			if err != nil || len(runs) == 0 {
				t.Fatalf("no run: %v", err)
			}
			return "/admin/projects/p/code-mode/runs/" + runs[0].ID + "/replay", url.Values{}
		}},
		{route: project + "/code-mode/recipes", make: at("/admin/projects/p/code-mode/recipes", "name", "answer", "description", "Returns 42", "code", "return 6 * 7;", "effect", "read", "inputSchema", "")},
		{route: project + "/code-mode/recipes/:id", make: onRecipe("", "description", "Other", "code", "return 7;", "effect", "read")},
		{route: project + "/code-mode/recipes/:id/switch", make: onRecipe("/switch", "enabled", "false")},
		{route: project + "/code-mode/recipes/:id/restore", make: onRecipe("/restore", "version", "1")},
		{route: project + "/code-mode/recipes/:id/delete", make: onRecipe("/delete")},
		{route: project + "/code-mode/proposals/:id/approve", make: onProposal("/approve")},
		{route: project + "/code-mode/proposals/:id/reject", make: onProposal("/reject")},
		{route: project + "/toolsets", make: at("/admin/projects/p/toolsets", "name", "Reader", "query", "readonly:true")},
		{route: project + "/toolsets/new/preview", shows: http.StatusOK, want: "clock__current_time", make: at("/admin/projects/p/toolsets/new/preview", "include", "clock__*")},
		{route: project + "/toolsets/:id", make: onToolset("", "name", "Other", "include", "clock__*")},
		{route: project + "/toolsets/:id/preview", shows: http.StatusOK, want: "clock__current_time", make: onToolset("/preview", "include", "clock__*")},
		{route: project + "/toolsets/:id/accept", make: onToolset("/accept")},
		{route: project + "/toolsets/:id/delete", make: onToolset("/delete")},
		{route: project + "/keys", guard: "careful", make: at("/admin/projects/p/keys", "name", "Ada's laptop", "expires", "90")},
		{route: project + "/keys/:id/rotate", guard: "careful", make: onKey("/rotate", "grace", "0s")},
		{route: project + "/keys/:id/revoke", guard: "careful", make: onKey("/revoke")},
		{route: project + "/keys/:id/tools", guard: "careful", make: onKey("/tools", "scope", "everything")},
		{route: project + "/connect/doctor", shows: http.StatusUnprocessableEntity, want: "not an origin", make: at("/admin/projects/p/connect/doctor", "origin", "not an origin")},
		{route: project + "/connectors", guard: "careful", make: at("/admin/projects/p/connectors", "name", "Ada's laptop", "expires", "90")},
		{route: project + "/connectors/:id/revoke", guard: "careful", make: onConnector("/revoke")},
		{route: project + "/keys/:id/done", make: onKey("/done")},

		{route: "/admin/connections/:id/client", guard: "careful", make: onConnection("/client", "oauth.clientId", "other", "oauth.clientSecret", "hush")},
		{route: "/admin/connections/:id/disconnect", make: onConnection("/disconnect")},
		{route: "/admin/connections/:id/drop-registration", make: onConnection("/drop-registration")},

		{route: "/admin/projects", make: at("/admin/projects", "name", "New one", "authMode", "none")},
		{route: project + "/servers/new", shows: http.StatusOK, want: "127.0.0.1:9", make: at("/admin/projects/p/servers/new", "pasted", "http://127.0.0.1:9/mcp")},
		{route: project + "/servers/new/check", shows: http.StatusOK, want: "127.0.0.1:9", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			return "/admin/projects/p/servers/new/check", readPage(t, w.post(t, "/admin/projects/p/servers/new", values("pasted", "http://127.0.0.1:9/mcp")).Body).form
		}},
		{route: project + "/servers", guard: "careful", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			form := readPage(t, w.post(t, "/admin/projects/p/servers/new", values("pasted", w.upstream)).Body).form
			form.Set("0.alias", "added")
			form.Set("0.authType", "bearer")
			form.Set("0.secret", "a token")
			return "/admin/projects/p/servers", form
		}},
		{route: server + "/edit", careful: true, variant: " address", make: onServer("kept", "/edit", "alias", "kept", "url", "http://127.0.0.1:9/other", "transport", "auto", "timeout", "60", "maxConcurrent", "512", "sessionMode", "shared", "definitionPolicy", "follow")},
		{route: server + "/edit", make: onServer("kept", "/edit", "alias", "kept", "url", "http://127.0.0.1:9/other", "transport", "auto", "timeout", "50", "maxConcurrent", "512", "sessionMode", "shared", "definitionPolicy", "follow")},
		{route: server + "/credentials", guard: "careful", make: onServer("kept", "/credentials", "authType", "bearer", "authBearer", "another token")},
		{route: "/me/connections/:serverId", guard: "careful", make: onOwn("", "bearer", "my-token")},
		{route: server + "/inventory", make: onOwn("/inventory", "person", "")},
		{route: server + "/connections/:personId/remove", make: onOwn("/connections/:personId/remove")},
		{route: server + "/account", guard: "careful", make: onServer("own", "/account", "connection", "personal", "personalHeaders", "X-Key")},
		{route: server + "/account", guard: "careful", variant: " refused", shows: http.StatusUnprocessableEntity, want: "Not a valid header name",
			make: onServer("own", "/account", "connection", "personal", "personalHeaders", "X(Key")},
		{route: server + "/filters", make: onServer("clock", "/filters", "deny", "no_*")},
		{route: server + "/choose", make: onServer("clock", "/choose", "tool", "current_time", "later", "hide")},
		{route: server + "/sync", make: onServer("clock", "/sync")},
		{route: server + "/restart", make: onServer("clock", "/restart")},
		{route: server + "/stop", make: onServer("clock", "/stop")},
		{route: server + "/enable", make: onServer("clock", "/enable", "enabled", "false")},
		{route: server + "/delete", make: onServer("kept", "/delete")},
		{route: project + "/settings", make: at("/admin/projects/p/settings", "name", "P", "authMode", "api_key", "toolExposure", "full", "toolNameLimit", "0", "rateLimit.perSecond", "1", "rateLimit.burst", "2", "limits", "shown", "limits[0].per", "key", "limits[0].match", "clock__*", "limits[0].perDay", "5")},
		{route: project + "/access", make: at("/admin/projects/p/access", "oauthAccess", "members")},
		{route: project + "/access/personal-keys", make: at("/admin/projects/p/access/personal-keys", "enabled", "on", "maxDays", "30")},
		{route: project + "/access/grants", make: onPerson("gil", "", "subject", "", "tools", "project")},
		{route: project + "/access/grants/:id/remove", make: onPerson("hal", "/remove")},
		{route: project + "/settings/delete", make: at("/admin/projects/gone/settings/delete", "confirm", "gone")},
		{route: "/admin/import", shows: http.StatusOK, want: "imported", make: func(*testing.T, *formWorld) (string, url.Values) { return "/admin/import", plan }},
		{route: "/admin/import/apply", guard: "careful", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			shown := newBrowser(t, w.App).post(t, "/admin/import", plan)
			return "/admin/import/apply", values("sealed", hiddenField(t, shown.Body, "sealed"))
		}},

		{route: "/admin/catalog/add", make: func(_ *testing.T, w *formWorld) (string, url.Values) {
			return "/admin/catalog/add", values("id", w.entry, "project", "p", "alias", "picked")
		}},
		{route: "/admin/catalog/views", make: at("/admin/catalog/views", "name", "team", "title", "Team", "kind", "list", "gated", "true")},
		{route: "/admin/catalog/views/:view", make: onView("", "title", "Team", "gated", "true")},
		{route: "/admin/catalog/views/:view/add", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			return onView("/add", "entry", w.entry)(t, w)
		}},
		{route: "/admin/catalog/views/:view/remove", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			path, form := onView("/remove", "entry", w.entry)(t, w)
			if err := w.Services.Registries.AddEntry(t.Context(), "listed", w.entry); err != nil {
				t.Fatal(err)
			}
			return path, form
		}},
		{route: "/admin/catalog/views/:view/delete", make: onView("/delete")},
		{route: "/admin/destinations/new", guard: "careful", make: at("/admin/destinations/new", "kind", "webhook", "name", "Operations", "address", "https://hooks.example.com/x", "filter", "kind:server")},
		{route: "/admin/destinations/:id", guard: "careful", make: onDestination("", "name", "Other", "filter", "kind:key")},
		{route: "/admin/destinations/:id/test", shows: http.StatusOK, want: "Not delivered", make: onDestination("/test")},
		{route: "/admin/destinations/:id/rotate", guard: "careful", make: onDestination("/rotate")},
		{route: "/admin/destinations/:id/retry", make: onDestination("/retry", "letter", "all")},
		{route: "/admin/destinations/:id/active", make: onDestination("/active", "active", "false")},
		{route: "/admin/destinations/:id/delete", make: onDestination("/delete")},
		{route: "/admin/alerts/rules/:id", make: at("/admin/alerts/rules/server_down", "enabled", "on", "minutes", "3")},
		{route: "/admin/alerts/rules/:id", variant: " refused", shows: http.StatusUnprocessableEntity, want: "Enter a whole number", make: at("/admin/alerts/rules/server_down", "enabled", "on", "minutes", "soon")},
		{route: "/admin/settings/test-mail", make: at("/admin/settings/test-mail")},
		{route: "/admin/catalog/keys", guard: "careful", make: at("/admin/catalog/keys", "name", "Editors", "expires", "90")},
		{route: "/admin/catalog/keys/:id/revoke", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			row, _, err := w.Services.Registries.CreateKey(t.Context(), registries.NewKey{Name: "Old"})
			if err != nil {
				t.Fatal(err)
			}
			return "/admin/catalog/keys/" + row.ID + "/revoke", url.Values{}
		}},
		{route: "/admin/catalog/requests/:id/approve", make: onRequest("/approve", "target", "project:p")},
		{route: "/admin/catalog/requests/:id/refuse", make: onRequest("/refuse", "answer", "Not now")},
		{route: "/admin/catalog/sources", make: func(_ *testing.T, w *formWorld) (string, url.Values) {
			return "/admin/catalog/sources", values("kind", "file", "name", "Ours", "url", w.source)
		}},
		{route: "/admin/catalog/sources/:id/preview", shows: http.StatusOK, want: "Ours", make: onSource("/preview")},
		{route: "/admin/catalog/sources/:id/sync", make: onSource("/sync")},
		{route: "/admin/catalog/sources/:id/schedule", make: onSource("/schedule", "schedule", "weekly")},
		{route: "/admin/catalog/sources/:id/approve", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			if err := w.Services.DB.Model(&models.CatalogSource{}).Where("url = ?", w.source).Update("held_removals", 1).Error; err != nil {
				t.Fatal(err)
			}
			return onSource("/approve", "removals", "1")(t, w)
		}},
		{route: "/admin/catalog/sources/:id/enable", make: onSource("/enable", "enabled", "false")},
		{route: "/admin/catalog/sources/:id/remove", make: onSource("/remove")},
		{route: "/admin/catalog/rows", shows: http.StatusOK, want: "Hide 1 entry?", make: func(_ *testing.T, w *formWorld) (string, url.Values) {
			return "/admin/catalog/rows", values("do", "hide", "row", w.entry)
		}},
		{route: "/admin/catalog/rows/apply", make: func(_ *testing.T, w *formWorld) (string, url.Values) {
			return "/admin/catalog/rows/apply", values("do", "add-tag", "tag", "ours", "row", w.entry)
		}},
		{route: "/admin/catalog/import", shows: http.StatusOK, want: "ours/kept", make: func(*testing.T, *formWorld) (string, url.Values) { return "/admin/catalog/import", document }},
		{route: "/admin/catalog/import/apply", make: func(t *testing.T, w *formWorld) (string, url.Values) {
			shown := newBrowser(t, w.App).post(t, "/admin/catalog/import", document)
			return "/admin/catalog/import/apply", values("sealed", hiddenField(t, shown.Body, "sealed"))
		}},
		{route: "/admin/catalog/:id/feature", make: onEntry("/feature", "featured", "true")},
		{route: "/admin/catalog/:id/verify", make: onEntry("/verify", "verified", "true", "evidence", "seen by us")},
		{route: "/admin/catalog/:id/edit", make: onEntry("/edit", "serverTitle", "Edited")},
		{route: "/admin/catalog/:id/unlock", make: onEntry("/unlock")},
		{route: "/admin/catalog/:id/check", make: onEntry("/check")},
		{route: "/admin/catalog/:id/hide", make: onEntry("/hide", "hidden", "true")},
		{route: "/admin/templates/:slug/use", make: func(_ *testing.T, w *formWorld) (string, url.Values) {
			return "/admin/templates/" + w.template + "/use", values("name", "From a template")
		}},

		{route: "/me/account/sign-out-everywhere", ends: true, make: at("/me/account/sign-out-everywhere")},
		{route: "/me/account/password", make: at("/me/account/password", "old", password, "password", "another quiet secret", "again", "another quiet secret")},
	}
}
