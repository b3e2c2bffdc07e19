package observe_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
	"mcpgateway/web/webtest"
)

const activityPath = "/admin/projects/p/activity"

// watched is an application with recorded calls.
type watched struct {
	*routestest.App
	key    models.Key
	cookie string // of a viewer
}

func watch(t *testing.T, dsn string) *watched {
	t.Helper()
	a := &watched{App: routestest.New(t, dsn)}
	a.Apply(t, `{"projects":{"p":{"name":"<b>Team</b>","authMode":"none","mcpServers":{"up":{"url":"http://127.0.0.1:1/mcp"}}},"q":{"authMode":"none","mcpServers":{}}}}`)
	project, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	if a.key, _, err = a.Services.Keys.Create(t.Context(), project.Project.ID, "CI runner", 0); err != nil {
		t.Fatal(err)
	}
	const password = "a long password of the tests"
	for _, role := range []models.Role{models.RoleAdmin, models.RoleViewer} {
		if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: string(role) + "@example.com", Role: role, Password: secrets.NewValue(password)}); err != nil {
			t.Fatal(err)
		}
	}
	in, err := a.Services.People.SignIn(t.Context(), "viewer@example.com", secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	a.cookie = "sid=" + in.Cookie.Reveal()
	return a
}

// call records a call of the project, the given number of minutes ago.
func (a *watched) call(t *testing.T, minutes int, tool, principal string, outcome models.Outcome) {
	t.Helper()
	project, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	server, _, found := strings.Cut(tool, "__")
	if !found {
		server = ""
	}
	a.Services.Calls.Record(models.Call{
		At: time.Now().Add(-time.Duration(minutes) * time.Minute), ProjectID: project.Project.ID, Principal: principal, Tool: tool, Server: server,
		DurationUS: int64(1000 * (minutes + 1)), RequestBytes: 1234, ResponseBytes: 2_500_000, Outcome: outcome, RequestID: fmt.Sprint("request-", minutes),
	})
}

func (a *watched) get(t *testing.T, path string) webtest.Response {
	t.Helper()
	return webtest.Send(t, a.App.App, webtest.Case{Path: path, Header: map[string]string{"Cookie": a.cookie, "Accept": "text/html"}})
}

// stored waits until n calls are stored.
func (a *watched) stored(t *testing.T, n int) {
	t.Helper()
	routestest.Eventually(t, "calls stored", func() bool {
		var count int64
		return a.Services.DB.Model(&models.Call{}).Count(&count).Error == nil && count == int64(n)
	})
}

func TestActivityListsCalls(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := watch(t, dsn)
		a.call(t, 1, "up__echo", "key:"+a.key.ID, models.CallOK)
		a.call(t, 2, "up__<script>", "anonymous", models.CallToolError)
		a.call(t, 3, "gateway_executeTool", "user:gone", models.CallFailed)
		a.call(t, 300, "up__old", "key:gone", models.CallCancelled)
		a.stored(t, 4)
		hour := []string{"up__echo", "up__&lt;script&gt;", "gateway_executeTool", "CI runner (" + a.key.Prefix + "…)", "Anyone", "Deleted person", "Tool failed", "No response"}
		for query, c := range map[string]webtest.Case{
			"?period=1h":                      {WantBody: hour, NotBody: []string{"up__old", "<script>up"}},
			"":                                {WantBody: append(hour, "&lt;b&gt;Team&lt;/b&gt;", "topics=calls", "Built-in tools", "up__old", "Cancelled", "Deleted key")},
			"?period=nonsense":                {WantBody: append(hour, "up__old")},
			"?query=echo":                     {WantBody: []string{"up__echo"}, NotBody: []string{"executeTool"}},
			"?query=outcome:failed":           {WantBody: []string{"No response", "Tool failed"}, NotBody: []string{"up__echo"}},
			"?query=-outcome:failed":          {WantBody: []string{"up__echo"}, NotBody: []string{"executeTool"}},
			"?query=server:gateway":           {WantBody: []string{"executeTool"}, NotBody: []string{"up__echo"}},
			"?query=server:gateway+server:up": {WantBody: hour},
			"?query=tool:up__echo":            {WantBody: []string{"up__echo"}, NotBody: []string{"executeTool"}},
			"?query=caller:%22ci+RUNNER%22":   {WantBody: []string{"up__echo"}, NotBody: []string{"executeTool"}},
			"?query=caller:" + a.key.Prefix:   {WantBody: []string{"up__echo"}, NotBody: []string{"executeTool"}},
			"?query=caller:anyone":            {WantBody: []string{"script"}, NotBody: []string{"up__echo"}},
			"?query=caller:nobody":            {WantBody: []string{"No calls in this period", "Show last 7 days"}, NotBody: []string{"up__echo"}},
			"?query=slower:4ms":               {WantBody: []string{"executeTool", "up__old"}, NotBody: []string{"up__echo"}},
			"?query=-slower:4ms":              {WantBody: []string{"up__echo"}, NotBody: []string{"executeTool"}},
			"?query=readonly:true":            {WantBody: []string{"No calls in this period"}, NotBody: []string{"up__echo"}},
		} {
			c.Status = 200
			answer := a.get(t, activityPath+query)
			if c.NotBody != nil {
				answer.Body = listOf(answer.Body)
			}
			t.Run(query, func(t *testing.T) { webtest.Check(t, c, answer) })
			if query == "" && (answer.Header.Get("Cache-Control") != "no-store" || strings.Contains(answer.Body, "<form method=\"post\" action=\""+activityPath)) {
				t.Error("page is cacheable or contains a form for a viewer")
			}
		}
		for query, why := range map[string]string{"?query=outcome:fine": "Unknown outcome", "?query=%22open": "quot", "?query=verified:true": "verified", "?query=slower:fast": "Unknown duration", "?query=readonly:maybe": "maybe"} {
			webtest.Check(t, webtest.Case{Status: 400, WantBody: []string{why, `aria-invalid="true"`}}, a.get(t, activityPath+query))
		}
		a.empty(t)
	})
}

// listOf returns the list of calls of a page.
func listOf(body string) string {
	_, list, _ := strings.Cut(body, `id="list"`)
	return list
}

// empty checks the page of a project without calls.
func (a *watched) empty(t *testing.T) {
	t.Helper()
	webtest.Check(t, webtest.Case{
		Status: 200, WantBody: []string{"No calls yet", `href="/admin/projects/q/connect"`, "Connect a client", "topics=calls%3A0"}, NotBody: []string{"Search calls"},
	}, a.get(t, "/admin/projects/q/activity"))
	webtest.Check(t, webtest.Case{Status: 404}, a.get(t, "/admin/projects/unknown/activity"))
}

func TestActivityPages(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	for i := range 41 {
		a.call(t, i, fmt.Sprintf("up__t%02d", i), "anonymous", models.CallOK)
	}
	a.stored(t, 41)
	first := a.get(t, activityPath+"?period=1h")
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"up__t00", "up__t39", "40 calls shown", `rel="next"`}}, first)
	link := first.Body[strings.Index(first.Body, "cursor="):]
	cursor := link[:strings.IndexAny(link, `"&`)]
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"up__t40", "1 call shown", "First page"}, NotBody: []string{`rel="next"`, "topics=calls", "data-pause"}}, a.get(t, activityPath+"?period=1h&"+cursor))
	for _, query := range []string{"?period=24h&" + cursor, "?period=1h&query=x&" + cursor, "?period=1h&cursor=nonsense"} {
		if answer := a.get(t, activityPath+query); answer.Status != 303 || !strings.HasPrefix(answer.Header.Get("Location"), activityPath+"?period=") {
			t.Errorf("%s: status = %d, location %q", query, answer.Status, answer.Header.Get("Location"))
		}
	}
}

func TestCallPage(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	a.call(t, 4, "up__echo", "key:"+a.key.ID, models.CallToolError)
	a.stored(t, 1)
	var call models.Call
	if err := a.Services.DB.First(&call).Error; err != nil {
		t.Fatal(err)
	}
	webtest.Check(t, webtest.Case{
		Status: 200, WantBody: []string{"up__echo", "CI runner", "request-4", "5.0 ms", "1.2 kB", "2.5 MB", "Tool failed", a.ServerID(t, "p", "up")},
	}, a.get(t, activityPath+"/"+call.ID))
	for _, path := range []string{activityPath + "/unknown", "/admin/projects/q/activity/" + call.ID, "/admin/projects/unknown/activity/" + call.ID} {
		webtest.Check(t, webtest.Case{Status: 404}, a.get(t, path))
	}
}

func TestRejectedCallsDifferFromTimeouts(t *testing.T) {
	const rejected, silent = "Rejected", "No response"
	words := map[string]string{
		"UPSTREAM_ERROR": rejected, "TOOL_NOT_FOUND": rejected, "TOOL_DISABLED": rejected, "INVALID_PARAMETER": rejected, "RATE_LIMITED": rejected, "UPSTREAM_UNAUTHORIZED": rejected,
		"UPSTREAM_TIMEOUT": silent, "UPSTREAM_UNAVAILABLE": silent, "UPSTREAM_INVALID_RESPONSE": silent, "INTERNAL": silent, "": silent,
	}
	a := watch(t, modelstest.SQLite(t))
	project, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	for code := range words {
		a.Services.Calls.Record(models.Call{At: time.Now(), ProjectID: project.Project.ID, Principal: "anonymous", Tool: "up__echo", Server: "up", Outcome: models.CallFailed, Code: code, RequestID: "r"})
	}
	a.stored(t, len(words))
	list := listOf(a.get(t, activityPath).Body)
	if r, s := strings.Count(list, rejected), strings.Count(list, silent); r != 6 || s != 5 {
		t.Errorf("list has %d rejected and %d silent calls, want 6 and 5", r, s)
	}
	var calls []models.Call
	if err := a.Services.DB.Find(&calls).Error; err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		want := words[call.Code]
		other := map[string]string{rejected: silent, silent: rejected}[want]
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{want}, NotBody: []string{other}}, a.get(t, activityPath+"/"+call.ID))
	}
}

func TestUnknownToolsDifferFromBuiltinTools(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	for _, name := range []string{"nowhere__tool", "up__none", "gateway_none", "gateway_searchMcpForTask"} {
		webtest.Send(t, a.App.App, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{"task":"anything"}}}`})
	}
	a.stored(t, 4)
	link := func(server string) string {
		return activityPath + "?" + url.Values{"period": {"24h"}, "query": {"server:" + server}}.Encode()
	}
	builtin, none := link("gateway"), link("(none)")
	href := func(link string) string { return `href="` + strings.ReplaceAll(link, "&", "&amp;") + `"` }
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"Built-in tools", "No server", href(builtin), href(none)}}, a.get(t, activityPath))
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"gateway_searchMcpForTask", "1 call shown"}, NotBody: []string{"nowhere__tool", "up__none", "gateway_none", "No server"}}, a.get(t, builtin))
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"nowhere__tool", "up__none", "gateway_none", "3 calls shown"}, NotBody: []string{"gateway_searchMcpForTask", "Built-in tools"}}, a.get(t, none))
	var call models.Call
	if err := a.Services.DB.First(&call, "tool = ?", "up__none").Error; err != nil {
		t.Fatal(err)
	}
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"No server (unknown tool)"}, NotBody: []string{"Gateway (built-in tool)"}}, a.get(t, activityPath+"/"+call.ID))
}

func TestPayloadsRequireAdministrator(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := watch(t, dsn)
		in, err := a.Services.People.SignIn(t.Context(), "admin@example.com", secrets.NewValue("a long password of the tests"), access.Browser{IP: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		administrator := func(path string) webtest.Response {
			return webtest.Send(t, a.App.App, webtest.Case{Path: path, Header: map[string]string{"Cookie": "sid=" + in.Cookie.Reveal(), "Accept": "text/html"}})
		}
		const banner, settings = "Recording is on", "Record arguments and results"
		webtest.Check(t, webtest.Case{Status: 200, NotBody: []string{banner}}, a.get(t, activityPath))
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{settings, "not every one can be found"}}, administrator("/admin/projects/p/settings"))
		a.Apply(t, `{"projects":{"p":{"recordPayloads":true}}}`)
		for _, answer := range []webtest.Response{a.get(t, activityPath), administrator(activityPath)} {
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{banner}}, answer)
		}
		webtest.Send(t, a.App.App, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__<b>none","arguments":{"say":"<script>hello","api_key":"hunter2"}}}`})
		a.stored(t, 1)
		var call models.Call
		if err := a.Services.DB.First(&call).Error; err != nil {
			t.Fatal(err)
		}
		webtest.Check(t, webtest.Case{
			Status:   200,
			WantBody: []string{"&lt;script&gt;hello", "&#34;api_key&#34;:&#34;[redacted]&#34;", "&#34;code&#34;:&#34;", "kept for 3 days"}, NotBody: []string{"hunter2", "<script>hello"},
		}, administrator(activityPath+"/"+call.ID))
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"Only administrators can see"}, NotBody: []string{"hello", "api_key"}}, a.get(t, activityPath+"/"+call.ID))
		for _, path := range []string{activityPath, activityPath + "/export?format=jsonl", activityPath + "/export?format=csv"} {
			webtest.Check(t, webtest.Case{Status: 200, NotBody: []string{"hello", "api_key"}}, administrator(path))
		}
		var entry models.AuditEntry
		if err := a.Services.DB.Order("seq DESC").First(&entry, "action = ?", "project.updated").Error; err != nil || !strings.Contains(fmt.Sprintf("%+v", entry), "recordPayloads") {
			t.Errorf("audit entry = %+v, %v", entry, err)
		}
	})
}

func TestActivityExport(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	a.call(t, 2, "up__echo", "anonymous", models.CallOK)
	a.call(t, 1, "up__add", "anonymous", models.CallFailed)
	a.stored(t, 2)
	answer := a.get(t, activityPath+"/export?format=csv&query=outcome:failed")
	rows, err := csv.NewReader(strings.NewReader(answer.Body)).ReadAll()
	if err != nil || len(rows) != 3 || rows[1][3] != "up__add" || rows[2][0] != "# complete" || rows[2][2] != rows[1][11] || answer.Header.Get("Content-Disposition") != `attachment; filename="p-calls.csv"` {
		t.Errorf("%q, %v", rows, err)
	}
	answer = a.get(t, activityPath+"/export?format=jsonl&query=echo")
	lines := strings.Split(answer.Body, "\n")
	var record struct{ ID, Tool, ProjectSlug string }
	if err := json.Unmarshal([]byte(lines[0]), &record); err != nil || len(lines) != 3 || record.Tool != "up__echo" || record.ProjectSlug != "p" || lines[1] != fmt.Sprintf(`{"complete":true,"rows":1,"last":%q}`, record.ID) {
		t.Errorf("%s, %v", answer.Body, err)
	}
	answer = a.get(t, activityPath+"/export?format=jsonl&after="+record.ID)
	if !strings.Contains(answer.Body, "up__add") || strings.Contains(answer.Body, "up__echo") || !strings.Contains(answer.Body, `"rows":1`) {
		t.Errorf("rest: %s", answer.Body)
	}
	if page := a.get(t, activityPath).Body; !strings.Contains(page, "format=csv") || !strings.Contains(page, "format=jsonl") {
		t.Error("the page has no export")
	}
	for _, query := range []string{"", "?format=xml", "?format=json", "?format=csv&after=x", "?format=csv&query=%22"} {
		webtest.Check(t, webtest.Case{Status: 400}, a.get(t, activityPath+"/export"+query))
	}
}
