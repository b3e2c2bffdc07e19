package routes_test

import (
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
)

const (
	commandsRefused  = `commands are taken only from a file: save this entry and run \"gateway serve --local FILE\"`
	transportRefused = "servers of this transport come from their runner's file"
)

func TestRoutesTakeNoCommand(t *testing.T) {
	admin := routestest.NewAdmin(t)
	clock := admin.ServerID(t, "p", "clock")
	const address = `"url":"http://127.0.0.1:9/mcp"`
	entries := map[string]string{
		"command": `{"command":"touch","args":["/tmp/never"]}`, "args": `{` + address + `,"args":["x"]}`, "env": `{` + address + `,"env":{"A":"b"}}`,
		"envFile": `{` + address + `,"envFile":"x"}`, "cwd": `{` + address + `,"cwd":"/"}`, "type": `{` + address + `,"type":"stdio"}`,
		"transport": `{` + address + `,"transport":"stdio"}`,
	}
	connector := maps.Clone(entries)
	connector["transport"] = `{` + address + `,"transport":"connector"}`
	for _, entries := range []map[string]string{entries, connector} {
		for key, raw := range entries {
			want := commandsRefused
			if key == "transport" {
				want = transportRefused
			}
			for _, route := range []struct{ method, path, body string }{
				{"POST", "/api/projects/p/servers", `{"alias":"x",` + raw[1:]},
				{"POST", "/api/projects/p/servers", `{"mcpServers":{"x":` + raw + `}}`},
				{"PATCH", "/api/servers/" + clock, raw},
				{"POST", "/api/projects", `{"projectSlug":"q","mcpServers":{"x":` + raw + `}}`},
				{"PATCH", "/api/projects/p", `{"mcpServers":{"x":` + raw + `}}`},
			} {
				status, body := admin.Ask(t, route.method, route.path, route.body, true)
				if status != 422 || !strings.Contains(body, want) || !strings.Contains(body, key) {
					t.Errorf("%s %s %s: %d %s", route.method, route.path, route.body, status, body)
				}
			}
			plain := strings.ReplaceAll(strings.ReplaceAll(want, `\"`, "&#34;"), "'", "&#39;")
			file := `{"projects":{"p":{"mcpServers":{"x":` + raw + `}}}}`
			if status, body, _ := admin.Send(t, "/admin/import", url.Values{"declaration": {file}}); status != 422 || !strings.Contains(body, plain) {
				t.Errorf("import of %s: %d", file, status)
			}
		}
	}
	edit := url.Values{"alias": {"clock"}, "url": {"http://127.0.0.1:9/mcp"}, "transport": {"stdio"}, "timeout": {"30"}, "maxConcurrent": {"5"}, "sessionMode": {"shared"}, "definitionPolicy": {"follow"}}
	if status, body, _ := admin.Send(t, "/admin/projects/p/servers/"+clock+"/edit", edit); status != 422 || !strings.Contains(body, "come from their runner&#39;s file") {
		t.Errorf("edited transport: %d", status)
	}
	edit.Set("transport", "auto")
	edit.Set("command", "touch")
	if status, _, _ := admin.Send(t, "/admin/projects/p/servers/"+clock+"/edit", edit); status != 422 {
		t.Errorf("edited command: %d", status)
	}
	if rows, err := admin.Services.Projects.Projects(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("projects %v, %v", rows, err)
	}
}

// declareLocal applies programs as serve does with a file of the source.
func declareLocal(t *testing.T, app *routestest.App, source models.ServerSource, file string) error {
	t.Helper()
	d, err := declaration.ParseServed([]byte(file), []string{"command", "args"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.Services.Projects.Apply(t.Context(), d, projects.ApplyOptions{Source: source})
	return err
}

func TestProgramsComeFromTheirFile(t *testing.T) {
	admin := routestest.NewAdmin(t)
	if err := declareLocal(t, admin.App, models.SourceConfig, `{"projects":{"p":{"mcpServers":{"notes":{"command":"x","args":["a-secret"],"sessionMode":"per-client"}}}}}`); err != nil {
		t.Fatal(err)
	}
	id := admin.ServerID(t, "p", "notes")
	for field, body := range map[string]string{
		"url": `{"url":"http://127.0.0.1:9/mcp"}`, "transport": `{"transport":"sse"}`, "authType": `{"authType":"bearer","authBearer":"x"}`, "authBearer": `{"authBearer":"x"}`,
		"headers": `{"headers":{"X-Key":"x"}}`, "sessionMode": `{"sessionMode":"shared"}`, "oauth": `{"oauth":{"clientId":"x"}}`, "tls": `{"tls":{"ca":"x"}}`,
		"forwardHeaders": `{"forwardHeaders":["X-Key"]}`, "connection": `{"connection":"personal"}`,
	} {
		if status, answer := admin.Ask(t, "PATCH", "/api/servers/"+id, body, true); status != 422 || !strings.Contains(answer, fmt.Sprintf("%q:%q", field, "comes from its runner's file")) {
			t.Errorf("PATCH %s: %d %s", body, status, answer)
		}
	}
	if status, answer := admin.Ask(t, "PATCH", "/api/servers/"+id, `{"denyTools":["d"],"timeout":5000,"alias":"memo","sessionMode":"per-client"}`, true); status != 200 {
		t.Errorf("PATCH of settings: %d %s", status, answer)
	}
	if status, answer := admin.Ask(t, "DELETE", "/api/servers/"+id, "", true); status != 409 || !strings.Contains(answer, "comes from its runner's file") {
		t.Errorf("DELETE: %d %s", status, answer)
	}
	file, err := admin.Services.Projects.Export(t.Context(), "p")
	if err != nil || strings.Contains(string(file), "a-secret") || strings.Contains(string(file), `"command"`) {
		t.Errorf("export: %s, %v", file, err)
	}
	admin.Apply(t, strings.ReplaceAll(string(file), `"d"`, `"e"`)) // settings, where the server exists
	if err := declareLocal(t, admin.App, models.SourceConfig, `{"projects":{"p":{"mcpServers":{"notes":{"command":"y"}}}}}`); err != nil {
		t.Fatal(err)
	}
	row, err := admin.Services.Projects.Server(t.Context(), id)
	if err != nil || row.Alias != "memo" || row.Entry != "p/notes" || row.URL != "" || fmt.Sprint(row.DenyTools) != "[e]" || row.SessionMode != models.SessionShared || row.TimeoutMS != 5000 {
		t.Errorf("after another command: %+v, %v", row, err)
	}
	if err := admin.Services.DB.Model(&models.Server{}).Where("id = ?", id).Update("undeclared", true).Error; err != nil {
		t.Fatal(err)
	}
	if status, answer := admin.Ask(t, "DELETE", "/api/servers/"+id, "", true); status != 204 {
		t.Errorf("DELETE of an undeclared program: %d %s", status, answer)
	}
}

func TestProgramsNeedAuthenticationOffLoopback(t *testing.T) {
	a := &pasteApp{App: routestest.New(t, modelstest.SQLite(t), "GATEWAY_ADDR=0.0.0.0:8080", "GATEWAY_ALLOW_HTTP=true", "GATEWAY_PUBLIC_URL=http://127.0.0.1:8080")}
	a.Apply(t, `{"projects":{"open":{"authMode":"none"}}}`)
	const program = `{"projects":{"%s":{"mcpServers":{"notes":{"command":"x"}}}}}`
	if err := declareLocal(t, a.App, models.SourceConfig, fmt.Sprintf(program, "open")); err == nil || !strings.Contains(err.Error(), "projects.open.authMode") {
		t.Errorf("a program for anyone: %v", err)
	}
	if err := declareLocal(t, a.App, models.SourceConfig, fmt.Sprintf(program, "p")); err != nil {
		t.Fatal(err)
	}
	if status, body := a.request(t, "PATCH", "/api/projects/p", "application/json", `{"authMode":"none"}`); status != 422 || !strings.Contains(body, `"authMode":"the project has local servers`) {
		t.Errorf("authMode none: %d %s", status, body)
	}
	if err := a.Services.Projects.CheckExposed(t.Context()); err != nil {
		t.Errorf("with authentication: %v", err)
	}
	if err := a.Services.DB.Model(&models.Project{}).Where("slug = ?", "p").Update("auth_mode", models.AuthNone).Error; err != nil {
		t.Fatal(err)
	}
	if err := a.Services.Projects.CheckExposed(t.Context()); err == nil || !strings.Contains(err.Error(), "projects.p.authMode") {
		t.Errorf("stored on loopback before: %v", err)
	}
}
