package routes_test

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/declaration"
	"mcpgateway/services/runners/connectors"
)

// team is a world with a maintainer of project p, and the project hidden-b that is
// not theirs.
type team struct {
	admin, maintainer *routestest.Admin
	userID, grant     string
	ids               map[string]map[string]string // by project, then by the segment before the id
}

func newTeam(t *testing.T) *team {
	t.Helper()
	return newTeamOf(t, routestest.NewAdmin(t))
}

func newTeamOf(t *testing.T, a *routestest.Admin) *team {
	t.Helper()
	a.Apply(t, `{"projects":{"hidden-b":{"name":"Hidden Plan","authMode":"api_key","mcpServers":{"vaultmcp":{"url":"https://vault.example.com/mcp","authType":"oauth"}}}}}`)
	mia, id := a.Join(t, "mia@example.com", "Mia", models.RoleMember)
	w := &team{admin: a, maintainer: mia, userID: id, ids: map[string]map[string]string{}}
	if status, _, to := mia.Send(t, "/admin", nil); status != http.StatusSeeOther || to != "/me" {
		t.Fatalf("/admin without a grant: %d %s", status, to)
	}
	w.grant = a.Grant(t, "p", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: id, Role: models.GrantMaintain})
	for slug, alias := range map[string]string{"p": "clock", "hidden-b": "vaultmcp"} {
		key, _ := a.Key(t, slug, 0)
		server := a.ServerID(t, slug, alias)
		project, err := a.Services.Directory.Project(slug)
		if err != nil {
			t.Fatal(err)
		}
		connector, _, err := a.Services.Connectors.Create(t.Context(), project.Project.ID, connectors.Attributes{Name: "laptop of " + slug})
		if err != nil {
			t.Fatal(err)
		}
		w.ids[slug] = map[string]string{"servers": server, "connections": server, "keys": key, "connectors": connector.ID, "activity": w.call(t, slug), "runs": "no-such-run"}
	}
	if status, body, _ := a.Send(t, "/admin/projects/p/servers/"+w.ids["p"]["servers"]+"/enable", url.Values{"enabled": {"true"}}); status != http.StatusSeeOther {
		t.Fatalf("change by the administrator: %d %.200s", status, body)
	}
	return w
}

// call stores a call by the administrator in a project and returns its id.
func (w *team) call(t *testing.T, slug string) string {
	t.Helper()
	people, err := w.admin.Services.People.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.admin.Services.Directory.Project(slug)
	if err != nil {
		t.Fatal(err)
	}
	principal := ""
	for _, person := range people {
		if person.Email == routestest.Administrator {
			principal = "user:" + person.ID
		}
	}
	row := models.Call{ID: uuid.Must(uuid.NewV7()).String(), At: time.Now(), ProjectID: p.Project.ID, Principal: principal, Tool: slug + "_tool", Server: "clock", Outcome: models.CallOK}
	if err := w.admin.Services.DB.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
	return row.ID
}

// path returns the path of a route with the things of a project.
func (w *team) path(pattern, slug string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		switch part {
		case ":projectSlug":
			parts[i] = slug
		case ":name":
			parts[i] = "clock__current_time"
		case ":id":
			if parts[i] = w.ids[slug][parts[i-1]]; parts[i] == "" {
				parts[i] = "no-such-thing"
			}
		}
	}
	return strings.Join(parts, "/")
}

// decisions returns what a maintainer may do on each route, from a file that a new
// route must be added to: own, refused or filtered.
func decisions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/maintainer_routes.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if decision, route, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all[route] = decision
		}
	}
	return all
}

// ofProject matches the routes whose path names a project, or a thing in one.
var ofProject = regexp.MustCompile(`:projectSlug|^/api/(servers|keys|connectors)/:id|^/admin/connections/:id`)

// TestMaintainerSeesOneProject sends a maintainer to every route: with the things
// of the maintained project, and with those of another one.
func TestMaintainerSeesOneProject(t *testing.T) {
	w := newTeam(t)
	decided, known := decisions(t), map[string]bool{}
	for _, r := range routes.Table(w.admin.Services) {
		route := r.Method + " " + r.Path
		switch r.Guard {
		case "open", "project", "catalog", "browse", "visitor", "person", "own", "own careful":
			continue // the same for every user who is signed in
		}
		known[route] = true
		scoped := ofProject.MatchString(r.Path)
		status, body := w.maintainer.Ask(t, r.Method, w.path(r.Path, "p"), "", false)
		passed := status != 403 && status != 401 && !strings.Contains(body, "There is no project")
		if r.Method != http.MethodGet { // without the CSRF token nothing changes, and the guard comes first
			passed = status == 403 && strings.Contains(body, "This page has expired")
		}
		switch decided[route] {
		case "own", "filtered":
			if !passed || (decided[route] == "own") != scoped {
				t.Errorf("%s: %d %.200s, want it admitted", route, status, body)
			}
			w.checkHidden(t, route, body)
		case "refused":
			if status != 403 || passed || !strings.Contains(body, "Maintainers can't do this") {
				t.Errorf("%s: %d %.200s, want 403", route, status, body)
			}
		default:
			t.Errorf("add a decision about maintainers on %q to testdata/maintainer_routes.txt", route)
		}
		if !scoped {
			continue
		}
		sent := ""
		if r.Method != http.MethodGet {
			sent = "{}"
		}
		theirs, unknown := w.path(r.Path, "hidden-b"), w.path(r.Path, "no-such-project")
		if status, body = w.maintainer.Ask(t, r.Method, theirs, sent, true); status != 404 {
			t.Errorf("%s: %d %.200s, want 404", theirs, status, body)
		}
		_, missing := w.maintainer.Ask(t, r.Method, unknown, sent, true)
		if got, want := sameName(body, theirs), sameName(missing, unknown); got != want {
			t.Errorf("%s differs from what never existed:\n%s\n%s", route, got, want)
		}
	}
	for route := range decided {
		if !known[route] {
			t.Errorf("testdata/maintainer_routes.txt names %q, which doesn't exist", route)
		}
	}
}

// sameName replaces the parts of an response that differ between names.
func sameName(body, path string) string {
	for _, part := range strings.Split(path, "/") {
		if len(part) >= 8 {
			body = strings.ReplaceAll(body, part, "NAME")
		}
	}
	return routestest.Normalise(body)
}

// checkHidden fails if an response has something of the other project, or the email
// address of another user.
func (w *team) checkHidden(t *testing.T, route, body string) {
	t.Helper()
	for _, secret := range []string{"hidden-b", "Hidden Plan", "vaultmcp", "vault.example.com", w.ids["hidden-b"]["keys"], w.ids["hidden-b"]["connectors"], "laptop of hidden-b", w.ids["hidden-b"]["servers"], routestest.Administrator} {
		if strings.Contains(body, secret) {
			t.Errorf("%s contains %q", route, secret)
		}
	}
}

// TestMaintainerListsOneProject checks lists, searches, logs and exports that
// administrators have for all projects.
func TestMaintainerListsOneProject(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { newTeamOf(t, routestest.NewAdminOn(t, dsn)).checkLists(t) })
}

func (w *team) checkLists(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{
		"/me": "/admin/projects/p", "/admin": "/admin/projects/p", "/admin/projects": "/admin/projects/p", "/admin/palette?query=clock": "clock", "/admin/palette?query=vault": "", "/admin/palette?query=hidden": "",
		"/admin/palette?query=ada": "", "/admin/connections": "", "/admin/audit": "server.", "/admin/audit?verify=1": "server.",
		"/admin/projects/p": "clock", "/admin/projects/p/activity": "p_tool", "/admin/projects/p/activity/export?format=csv": "p_tool",
		"/api/projects": `"p"`, "/api/calls": "p_tool", "/api/calls?format=csv": "p_tool", "/api/calls?format=jsonl": "p_tool", "/api/audit": `"projectSlug":"p"`, "/admin/live": "",
	} {
		_, body := w.maintainer.Ask(t, "GET", path, "", false)
		if !strings.Contains(body, want) {
			t.Errorf("%s: no %q in %.300s", path, want, body)
		}
		w.checkHidden(t, path, body)
	}
	for path, want := range map[string]int{
		"/api/calls?project=hidden-b": 404, "/api/calls?format=jsonl&project=hidden-b": 404, "/admin/projects/hidden-b/activity/export?format=csv": 404, "/api/audit?format=csv": 403, "/admin/audit/export?format=csv": 403,
		"/admin/live?topics=nav:&project=hidden-b": 404, "/admin/live?topics=projects:&project=hidden-b": 404,
		"/api/audit?actor=ada@example.com": 400, "/api/audit?object=ada@example.com": 400,
	} {
		status, body := w.maintainer.Ask(t, "GET", path, "", false)
		if status != want {
			t.Errorf("%s: %d, want %d: %.200s", path, status, want, body)
		}
	}
	if _, body := w.maintainer.Ask(t, "GET", "/api/audit?project=hidden-b", "", false); !strings.Contains(body, `"count":0`) {
		t.Errorf("audit log of another project: %.300s", body)
	}
	if _, body := w.maintainer.Ask(t, "GET", "/admin/projects/p/activity?query=caller:ada@example.com", "", false); strings.Contains(body, "p_tool</") {
		t.Error("a search by an email address confirms whose it is")
	}
}

// TestPagesOfMaintainersLeadSomewhere follows the links of a maintainer's pages.
func TestPagesOfMaintainersLeadSomewhere(t *testing.T) {
	w := newTeam(t)
	seen := map[string]bool{}
	for _, start := range []string{"/me", "/admin", "/admin/projects/p", "/admin/projects/p/connect", "/admin/projects/p/settings", "/admin/projects/p/code-mode/settings", "/admin/projects/p/servers", "/admin/projects/p/keys", "/admin/projects/p/tools"} {
		status, body := w.maintainer.Ask(t, "GET", start, "", false)
		if status != 200 {
			t.Errorf("%s: %d", start, status)
		}
		for _, found := range regexp.MustCompile(`href="(/(?:admin|me)[^"#?]*)`).FindAllStringSubmatch(body, -1) {
			if seen[found[1]] {
				continue
			}
			seen[found[1]] = true
			if status, _ := w.maintainer.Ask(t, "GET", found[1], "", false); status == 403 || status == 404 {
				t.Errorf("%s links to %s: %d", start, found[1], status)
			}
		}
		for _, field := range []string{`name="authMode"`, `name="rateLimit.perSecond"`, `name="recordPayloads"`, `name="retention.calls"`, `name="allowFetch"`, `name="secretRefs"`, "delete-project"} {
			if strings.Contains(body, field) {
				t.Errorf("%s has %s", start, field)
			}
		}
	}
}

// TestMaintainerLosesProject removes the grant while the maintainer is signed in.
func TestMaintainerLosesProject(t *testing.T) {
	w := newTeam(t)
	w.admin.Withdraw(t, "p", w.grant)
	for _, path := range []string{"/admin/projects/p", "/api/projects/p", "/api/projects", "/admin/audit", "/api/servers/" + w.ids["p"]["servers"]} {
		if status, body := w.maintainer.Ask(t, "GET", path, "", false); status != 403 {
			t.Errorf("%s: %d %.100s, want 403", path, status, body)
		}
	}
}

// TestMaintainerByForm grants a user everything, and then the administration, with
// the form of the access page.
func TestMaintainerByForm(t *testing.T) {
	a := routestest.NewAdmin(t)
	mia, id := a.Join(t, "mia@example.com", "Mia", models.RoleMember)
	for _, step := range []struct {
		tools string
		want  int
	}{{"project", http.StatusForbidden}, {"owner", http.StatusForbidden}, {"maintainer", http.StatusOK}} {
		a.Send(t, "/admin/projects/p/access/grants", url.Values{"subject": {"person:" + id}, "tools": {step.tools}})
		if status, _ := mia.Ask(t, "GET", "/admin/projects/p/servers", "", false); status != step.want {
			t.Errorf("after granting %s: %d, want %d", step.tools, status, step.want)
		}
	}
}

// TestMaintainerPathWithThingOfAnotherProject sends a maintainer to the maintained
// project's routes with the ids of another project's things. Nothing is shown and
// nothing changes.
func TestMaintainerPathWithThingOfAnotherProject(t *testing.T) {
	w := newTeam(t)
	w.ids["hidden-b"]["toolsets"] = w.admin.Toolset(t, "hidden-b", models.Toolset{Slug: "vaulttools", Name: "Hidden Plan", Include: models.StringList{"*"}})
	text, code := "Hidden Plan", "return 1;"
	recipe, err := w.admin.Services.Recipes.Create(t.Context(), "hidden-b", "vaultplan", &declaration.Recipe{Description: &text, Code: &code})
	if err != nil {
		t.Fatal(err)
	}
	proposal, err := w.admin.Services.Recipes.Propose(t.Context(), "hidden-b", models.RecipeProposal{Name: "vaultnext", Description: text, InputSchema: "{}", Code: code, Effect: models.RecipeReads, Principal: "key:k"})
	if err != nil {
		t.Fatal(err)
	}
	w.ids["hidden-b"]["recipes"], w.ids["hidden-b"]["proposals"] = recipe.ID, proposal.ID
	stored := func() (all struct {
		Keys      []models.Key
		Servers   []models.Server
		Toolsets  []models.Toolset
		Recipes   []models.Recipe
		Proposals []models.RecipeProposal
	}) {
		for _, rows := range []any{&all.Keys, &all.Servers, &all.Toolsets, &all.Recipes, &all.Proposals} {
			if err := w.admin.Services.DB.Order("id").Find(rows).Error; err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	before, tried := stored(), 0
	for _, r := range routes.Table(w.admin.Services) {
		if !strings.Contains(r.Path, ":projectSlug") || !strings.Contains(r.Path, ":id") || decisions(t)[r.Method+" "+r.Path] != "own" {
			continue
		}
		path := strings.Replace(w.path(r.Path, "hidden-b"), "/hidden-b/", "/p/", 1)
		if strings.Contains(path, "no-such") {
			continue // runs, of which there are none
		}
		tried++
		if r.Method == http.MethodGet {
			status, body := w.maintainer.Ask(t, r.Method, path, "", false)
			if status != http.StatusNotFound && status != http.StatusSeeOther {
				t.Errorf("%s: %d %.200s", path, status, body)
			}
			continue
		}
		form := url.Values{"grace": {"0"}, "name": {"Taken over"}, "slug": {"taken"}, "query": {"readonly:true"}, "enabled": {"true"}, "version": {"1"}, "code": {"return 2;"}, "scope": {"project"}, "confirm": {"vaultmcp", "vaulttools"}, "force": {"true"}}
		if status, body, _ := w.maintainer.Send(t, path, form); status < 300 {
			t.Errorf("%s: %d %.200s", path, status, body)
		}
	}
	if d := cmp.Diff(before, stored()); d != "" || tried < 20 {
		t.Errorf("after %d requests (-before +after):\n%s", tried, d)
	}
}
