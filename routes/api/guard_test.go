package api_test

import (
	"slices"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/web/webtest"
)

// administration lists every route that requires the administration token.
var administration = [][2]string{
	{"GET", "/api/projects"}, {"GET", "/api/projects/p"}, {"GET", "/api/projects/p/servers"}, {"GET", "/api/servers/x"}, {"POST", "/api/servers/x/sync"},
	{"GET", "/api/projects/p/tools"}, {"PATCH", "/api/projects/p/tools/up__echo"}, {"GET", "/api/projects/p/keys"}, {"POST", "/api/projects/p/keys"},
	{"POST", "/api/keys/x/rotate"}, {"PATCH", "/api/keys/x"}, {"DELETE", "/api/keys/x"},
	{"GET", "/api/projects/p/toolsets"}, {"POST", "/api/projects/p/toolsets"}, {"POST", "/api/projects/p/toolsets/preview"},
	{"GET", "/api/projects/p/toolsets/reader"}, {"PATCH", "/api/projects/p/toolsets/reader"}, {"DELETE", "/api/projects/p/toolsets/reader"},
	{"GET", "/api/catalog/views"}, {"POST", "/api/catalog/views"}, {"GET", "/api/catalog/views/v"}, {"PATCH", "/api/catalog/views/v"}, {"DELETE", "/api/catalog/views/v"},
	{"PUT", "/api/catalog/views/v/entries/e"}, {"DELETE", "/api/catalog/views/v/entries/e"}, {"GET", "/api/catalog/keys"}, {"POST", "/api/catalog/keys"}, {"DELETE", "/api/catalog/keys/x"},
	{"GET", "/api/catalog/requests"}, {"POST", "/api/catalog/requests/x/approve"}, {"POST", "/api/catalog/requests/x/refuse"},
	{"POST", "/api/catalog/rows/x/check"},
	{"GET", "/api/runners"}, {"GET", "/api/servers/x/log"}, {"POST", "/api/servers/x/restart"}, {"POST", "/api/servers/x/stop"},
	{"GET", "/api/projects/p/usage"}, {"GET", "/api/projects/p/refused"}, {"POST", "/api/projects/p/doctor"},
	{"GET", "/api/destinations"}, {"POST", "/api/destinations"}, {"GET", "/api/destinations/x"}, {"PATCH", "/api/destinations/x"}, {"DELETE", "/api/destinations/x"},
	{"POST", "/api/destinations/x/test"}, {"POST", "/api/destinations/x/rotate"}, {"POST", "/api/destinations/x/retry"},
	{"GET", "/api/projects/p/recipes"}, {"POST", "/api/projects/p/recipes"}, {"GET", "/api/projects/p/recipes/x"}, {"PATCH", "/api/projects/p/recipes/x"},
	{"DELETE", "/api/projects/p/recipes/x"}, {"POST", "/api/projects/p/recipes/x/approve"},
	{"GET", "/api/alerts"}, {"PATCH", "/api/alerts/rules/x"}, {"POST", "/api/invitations"}, {"POST", "/api/people/x/reset"},
	{"GET", "/api/projects/p/connectors"}, {"POST", "/api/projects/p/connectors"}, {"DELETE", "/api/connectors/x"},
	{"GET", "/api/projects/p/access"}, {"POST", "/api/projects/p/access"}, {"DELETE", "/api/projects/p/access/x"},
	{"GET", "/api/groups"}, {"POST", "/api/groups"}, {"GET", "/api/groups/x"}, {"PATCH", "/api/groups/x"}, {"DELETE", "/api/groups/x"},
	{"GET", "/api/catalog/sources"}, {"POST", "/api/catalog/sources"}, {"PATCH", "/api/catalog/sources/x"}, {"DELETE", "/api/catalog/sources/x"},
	{"POST", "/api/catalog/sources/x/run"}, {"POST", "/api/catalog/sources/x/preview"}, {"POST", "/api/catalog/sources/x/approve"},
	{"PUT", "/api/groups/x/members/ann"}, {"DELETE", "/api/groups/x/members/ann"},
	{"POST", "/api/projects"}, {"PATCH", "/api/projects/p"}, {"POST", "/api/projects/p/servers"}, {"PATCH", "/api/servers/x"}, {"DELETE", "/api/servers/x"},
	{"POST", "/api/servers/x/connection"}, {"DELETE", "/api/servers/x/connection"},
	{"GET", "/api/servers/x/connections"}, {"DELETE", "/api/servers/x/connections/ann"}, {"PUT", "/api/servers/x/inventory-connection"},
	{"GET", "/api/calls"}, {"GET", "/api/audit"}, {"GET", "/api/people"}, {"POST", "/api/people"}, {"PATCH", "/api/people/x"}, {"DELETE", "/api/people/x"},
	{"DELETE", "/api/projects/p"}, // last, because the others need the project
}

// ofUsers lists every route for the signed-in user, which the administration
// token can't use.
var ofUsers = [][2]string{
	{"POST", "/api/catalog/requests"}, {"GET", "/api/me"}, {"GET", "/api/me/projects"}, {"POST", "/api/me/projects/p/keys"}, {"GET", "/api/me/keys"}, {"POST", "/api/me/keys/x/rotate"},
	{"DELETE", "/api/me/keys/x"}, {"GET", "/api/me/apps"}, {"DELETE", "/api/me/apps/x"}, {"GET", "/api/me/sessions"}, {"DELETE", "/api/me/sessions/x"},
	{"GET", "/api/me/connections"}, {"PUT", "/api/me/connections/gh"}, {"DELETE", "/api/me/connections/gh"}, {"POST", "/api/me/connections/gh/start"},
}

func TestRoutesOfUsersNeedASession(t *testing.T) {
	a := onSQLite(t, trusting)
	for _, route := range ofUsers {
		for token, want := range map[string]int{"": 401, routestest.AdminToken: 403} {
			if answer := a.send(t, route[0], route[1], token, ""); answer.Status != want {
				t.Errorf("%v with the token %q: %d %s", route, token, answer.Status, answer.Body)
			}
		}
	}
}

func TestAdministrationRequiresToken(t *testing.T) {
	a, next := onSQLite(t, trusting), elsewhere()
	a.project(t, "p", "api_key", "")
	_, key := a.Key(t, "p", 0)
	for _, route := range administration {
		for _, authorization := range []string{"", "Bearer", "Bearer wrong", "Bearer " + key, "Basic " + routestest.AdminToken, routestest.AdminToken, "Bearer " + routestest.AdminToken + "x"} {
			answer := webtest.Send(t, a.App.App, webtest.Case{Method: route[0], Path: route[1], Header: map[string]string{"Authorization": authorization, "X-Forwarded-For": next()}})
			webtest.Check(t, webtest.Case{
				Status: 401, WantJSON: `{"code":"UNAUTHORIZED","message":"Valid credentials are required.","restart":false,"help":"http://127.0.0.1:8080/docs/errors#UNAUTHORIZED"}`,
				WantHeader: map[string]string{"WWW-Authenticate": `Bearer realm="gateway administration"`, "Cache-Control": "no-store"},
			}, answer)
		}
		if answer := a.send(t, route[0], route[1]+"?token="+routestest.AdminToken+"&access_token="+routestest.AdminToken, "", ""); answer.Status != 401 {
			t.Errorf("%v: token in the query: status %d", route, answer.Status)
		}
		if answer := a.send(t, route[0], route[1], routestest.AdminToken, ""); answer.Status == 401 || answer.Status == 403 {
			t.Errorf("%v: valid token: %d %s", route, answer.Status, answer.Body)
		}
	}
	if strings.Contains(a.Log.String(), routestest.AdminToken) {
		t.Error("log contains the administration token")
	}
}

func TestAdministrationIsClosedWithoutToken(t *testing.T) {
	a, next := onSQLite(t, "GATEWAY_ADMIN_TOKEN=", trusting), elsewhere()
	for _, route := range administration {
		for _, authorization := range []string{"", "Bearer ", "Bearer x", "Bearer " + routestest.AdminToken, "Bearer [redacted]"} {
			c := webtest.Case{Method: route[0], Path: route[1], Header: map[string]string{"Authorization": authorization, "X-Forwarded-For": next()}}
			if answer := webtest.Send(t, a.App.App, c); answer.Status != 401 {
				t.Errorf("%v with %q: %d %s", route, authorization, answer.Status, answer.Body)
			}
		}
	}
}

func TestAPIRoutesAreInTables(t *testing.T) {
	known := map[string]bool{}
	all := slices.Concat(administration, ofUsers)
	for _, route := range all {
		path := strings.NewReplacer("up__echo", ":name", "/reader", "/:toolset", "/ann", "/:personId", "/gh", "/:serverId", "views/v", "views/:view", "entries/e", "entries/:entryId", "projects/p", "projects/:projectSlug", "/x", "/:id").Replace(route[1])
		known[route[0]+" "+path] = true
	}
	public := map[string]bool{"GET /api/registry": true, "GET /api/templates": true, "GET /api/openapi.json": true}
	seen := 0
	for _, route := range onSQLite(t).GetRoutes(true) {
		line := route.Method + " " + route.Path
		if strings.HasPrefix(route.Path, "/api/") && route.Method != "OPTIONS" && route.Method != "HEAD" && !known[line] && !public[line] {
			t.Errorf("%s is missing in the tables", line)
		}
		if known[line] {
			seen++
		}
	}
	if seen != len(all) {
		t.Errorf("%d of %d routes of the tables exist", seen, len(all))
	}
}

func TestProbes(t *testing.T) {
	a := onSQLite(t)
	webtest.Run(t, a.App.App, []webtest.Case{
		{Name: "live", Path: "/healthz", Status: 200, WantJSON: `{"status":"ok"}`},
		{Name: "ready", Path: "/readyz", Status: 200, WantJSON: `{"status":"ready"}`},
		{Name: "by address", Path: "/readyz", Header: map[string]string{"Host": "10.1.2.3:8080"}, Status: 200},
	})
	a.Services.Drain()
	webtest.Run(t, a.App.App, []webtest.Case{
		{Name: "live while draining", Path: "/healthz", Status: 200},
		{Name: "ready while draining", Path: "/readyz", Status: 503, WantBody: []string{`"code":"UNAVAILABLE"`}, NotBody: []string{"shutting"}},
	})
}
