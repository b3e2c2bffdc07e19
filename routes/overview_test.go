package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
)

const overviewPath = "/admin/projects/p"

var (
	doneSteps = regexp.MustCompile(`(\d) of (\d) done`)
	spaces    = regexp.MustCompile(`\s+`)
)

// overviewWorld is an application with the empty project p and an administrator.
type overviewWorld struct{ *browser }

func newOverviewWorld(t *testing.T, authMode string) *overviewWorld {
	t.Helper()
	a := routestest.New(t, modelstest.SQLite(t))
	if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: formAdmin, Role: models.RoleAdmin, Password: secrets.NewValue(password)}); err != nil {
		t.Fatal(err)
	}
	a.Apply(t, fmt.Sprintf(`{"projects":{"p":{"name":"Support","authMode":%q,"mcpServers":{}}}}`, authMode))
	return &overviewWorld{newBrowser(t, a)}
}

// page returns the text of the overview.
func (w *overviewWorld) page(t *testing.T) string {
	t.Helper()
	got := w.send(t, overviewPath, nil)
	if got.Status != http.StatusOK {
		t.Fatalf("overview: status %d", got.Status)
	}
	return got.Body
}

// steps returns how many steps of the setup are done, such as "1 of 5", or "".
func (w *overviewWorld) steps(t *testing.T) string {
	t.Helper()
	return strings.TrimSuffix(doneSteps.FindString(w.page(t)), " done")
}

// addClock adds a working server.
func (w *overviewWorld) addClock(t *testing.T) *upstreamtest.Server {
	t.Helper()
	clock := upstreamtest.New(demo.Servers()[0])
	w.Apply(t, fmt.Sprintf(`{"projects":{"p":{"mcpServers":{"clock":{"url":%q}}}}}`, clock.Start(t)))
	w.Sync(t, "p", "clock")
	return clock
}

// request sends a JSON-RPC request to the endpoint with a key.
func (w *overviewWorld) request(t *testing.T, key, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/mcp/p/request", strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := w.Test(r, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Body.Close() != nil {
		t.Fatalf("request: status %d", answer.StatusCode)
	}
}

const clockCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock__current_time","arguments":{"zone":"UTC"}}}`

func TestOverviewSetup(t *testing.T) {
	w := newOverviewWorld(t, "api_key")
	want := func(steps string) {
		t.Helper()
		routestest.Eventually(t, "steps "+steps, func() bool { return w.steps(t) == steps })
	}
	want("0 of 5")
	w.addClock(t)
	want("1 of 5")
	if got := w.post(t, overviewPath+"/tools/clock__current_time/try", url.Values{"as": {"json"}, "arguments": {`{"zone":"UTC"}`}}); got.Status >= 400 {
		t.Fatalf("try: status %d", got.Status)
	}
	want("2 of 5")
	_, key := w.Key(t, "p", 0)
	want("3 of 5")
	w.request(t, key, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	want("4 of 5")
	if body := w.page(t); !strings.Contains(body, "Nothing has called this project yet") || strings.Contains(body, "Active clients") {
		t.Error("a project without calls shows numbers")
	}
	w.request(t, key, clockCall)
	want("")
	body := w.page(t)
	for _, text := range []string{"Active clients", "Busiest tools", "Recent calls", "1 of 1 server up", "All good"} {
		if !strings.Contains(body, text) {
			t.Errorf("overview lacks %q", text)
		}
	}
	if strings.Contains(body, "Finish setting up") || strings.Contains(body, "Show setup") {
		t.Error("the finished setup is shown")
	}
}

func TestOverviewSetupHidden(t *testing.T) {
	w := newOverviewWorld(t, "oauth")
	if got := w.steps(t); got != "1 of 5" {
		t.Errorf("steps with sign-in: %q", got)
	}
	if got := w.send(t, overviewPath+"?setup=hide", nil); got.Status != http.StatusSeeOther || got.Location != overviewPath {
		t.Fatalf("hide: %d to %s", got.Status, got.Location)
	}
	if body := w.page(t); strings.Contains(body, "Finish setting up") || !strings.Contains(body, "Show setup") {
		t.Error("the hidden setup is shown")
	}
	other := &overviewWorld{newBrowser(t, w.App)}
	other.cookies["setup"] = "hidden-another-user"
	if !strings.Contains(other.page(t), "Finish setting up") {
		t.Error("the setup is hidden for another user")
	}
	w.send(t, overviewPath+"?setup=show", nil)
	if !strings.Contains(w.page(t), "Finish setting up") {
		t.Error("the setup stays hidden")
	}
}

func TestOverviewOfOpenProject(t *testing.T) {
	w := newOverviewWorld(t, "none")
	if got := w.steps(t); got != "0 of 4" {
		t.Errorf("steps: %q", got)
	}
	if got := w.send(t, overviewPath+"?check=1", nil); got.Status != http.StatusMovedPermanently || got.Location != overviewPath+"/connect?check=1" {
		t.Errorf("test of the endpoint: %d to %s", got.Status, got.Location)
	}
}

func TestOverviewAttention(t *testing.T) {
	w := newOverviewWorld(t, "api_key")
	w.addClock(t)
	w.Apply(t, `{"projects":{"p":{"mcpServers":{
		"jira":{"url":"http://127.0.0.1:9/mcp"},"bare":{"url":"http://127.0.0.1:9/mcp","authType":"bearer"},"oauth":{"url":"http://127.0.0.1:9/mcp","authType":"oauth"}}}}}`)
	for _, alias := range []string{"jira", "bare", "oauth"} {
		_, _ = w.Services.Syncer.Sync(t.Context(), w.ServerID(t, "p", alias)) // every sync fails
	}
	body := w.page(t)
	row := func(title, fix, target string) {
		t.Helper()
		at := strings.Index(body, title)
		if at < 0 {
			t.Errorf("no row %q", title)
			return
		}
		text := body[at:min(len(body), at+900)]
		if !strings.Contains(text, fix) || !strings.Contains(text, target) {
			t.Errorf("row %q lacks %q to %s:\n%s", title, fix, target, spaces.ReplaceAllString(text, " "))
		}
	}
	row("jira is down", ">Retry", "/servers/"+w.ServerID(t, "p", "jira")+"/sync")
	row("bare needs a token", ">Add token ", "/servers/"+w.ServerID(t, "p", "bare")+"/edit")
	row("oauth isn&#39;t connected", ">Connect ", "/admin/connections/"+w.ServerID(t, "p", "oauth")+"/start")
	if !strings.Contains(body, "1 of 4 servers up") || !strings.Contains(body, "jira down") {
		t.Error("the heading lacks the state of the servers")
	}
}

// TestOverviewChangedToolset checks the row for TOOLSET_CHANGED, until the change
// is accepted.
func TestOverviewChangedToolset(t *testing.T) {
	w := newOverviewWorld(t, "api_key")
	clock := w.addClock(t)
	id := w.Toolset(t, "p", models.Toolset{Slug: "reader", Name: "Reader <1>", Include: []string{"clock__*"}})
	w.Toolset(t, "p", models.Toolset{Slug: "other", Name: "Other", Include: []string{"clock__current_time"}})
	const title = "Toolset “Reader &lt;1&gt;” changed"
	if strings.Contains(w.page(t), "Toolset “") {
		t.Error("row before a change")
	}
	clock.SetTools(append(demo.Servers()[0].Tools[:1:1], upstreamtest.Tool{Definition: `{"name":"moon_phase","inputSchema":{"type":"object"}}`})...)
	w.Sync(t, "p", "clock")
	body := spaces.ReplaceAllString(w.page(t), " ")
	at := strings.Index(body, title)
	if at < 0 || strings.Count(body, "Toolset “") != 2 { // and in the label of the link
		t.Fatalf("%d rows about changed toolsets", strings.Count(body, "Toolset “"))
	}
	to := overviewPath + "/toolsets/" + id
	if row := body[at-300 : at+600]; !strings.Contains(row, `href="`+to+`"`) || !strings.Contains(row, ">Review") || !regexp.MustCompile(`1 tool joined, \d left · sync of clock · just now`).MatchString(row) {
		t.Errorf("row %s", row)
	}
	if got := w.send(t, to, nil); !strings.Contains(got.Body, "The tools of this toolset changed") {
		t.Error("the row leads to a page without the change")
	}
	if got := w.post(t, to+"/accept", url.Values{}); got.Status != http.StatusSeeOther {
		t.Fatalf("accept: %d", got.Status)
	}
	if strings.Contains(w.page(t), "Toolset “") {
		t.Error("row after the change was accepted")
	}
}

func TestOverviewExpiringKeys(t *testing.T) {
	week := 7 * 24 * time.Hour
	for _, tt := range []struct {
		left  time.Duration
		shown bool
	}{{week - time.Minute, true}, {week, true}, {week + time.Minute, false}, {-time.Minute, false}} {
		w := newOverviewWorld(t, "api_key")
		id, _ := w.Key(t, "p", 90*24*time.Hour)
		if err := w.Services.DB.Model(&models.Key{}).Where("id = ?", id).Update("expires_at", time.Now().Add(tt.left).UTC()).Error; err != nil {
			t.Fatal(err)
		}
		body := w.page(t)
		if shown := strings.Contains(body, "“test” expires in"); shown != tt.shown {
			t.Errorf("key that expires in %s: shown = %v", tt.left, shown)
		}
		if tt.shown && !strings.Contains(body, overviewPath+"/keys/"+id) {
			t.Error("the row has no link to the key")
		}
	}
}

func TestOverviewFailingCalls(t *testing.T) {
	for _, tt := range []struct {
		failed, calls int
		shown         bool
	}{{2, 2, false}, {3, 3, true}, {3, 15, true}, {3, 16, false}} {
		w := newOverviewWorld(t, "api_key")
		p, err := w.Services.Directory.Project("p")
		if err != nil {
			t.Fatal(err)
		}
		for i := range tt.calls {
			call := models.Call{At: time.Now().UTC().Add(-time.Minute), ProjectID: p.Project.ID, Principal: "key:gone", Tool: "jira__add", Server: "jira", DurationUS: 10, Outcome: models.CallOK}
			if i < tt.failed {
				call.Outcome, call.Code = models.CallFailed, "UPSTREAM_TIMEOUT"
			}
			w.Services.Calls.Record(call)
		}
		// The page keeps its numbers for a moment, so it is opened when all are stored.
		routestest.Eventually(t, "stored calls", func() bool {
			var stored int64
			return w.Services.DB.Table("calls").Where("project_id = ?", p.Project.ID).Count(&stored).Error == nil && stored == int64(tt.calls)
		})
		body := w.page(t)
		if shown := strings.Contains(body, "jira__add fails"); shown != tt.shown {
			t.Errorf("%d of %d calls failed: shown = %v", tt.failed, tt.calls, shown)
		}
		if tt.shown && (!strings.Contains(body, "UPSTREAM_TIMEOUT") || !strings.Contains(body, "query=tool%3Ajira__add&#43;outcome%3Afailed") && !strings.Contains(body, "query=tool%3Ajira__add+outcome%3Afailed")) {
			t.Error("the row does not link to the calls")
		}
	}
}

func TestProjectList(t *testing.T) {
	w := newOverviewWorld(t, "api_key")
	w.addClock(t)
	w.Key(t, "p", 0)
	w.Apply(t, `{"projects":{"zebra":{"name":"Zebra","authMode":"none","mcpServers":{"jira":{"url":"http://127.0.0.1:9/mcp"}}},"alpha":{"name":"Alpha","authMode":"oauth","mcpServers":{}}}}`)
	_, _ = w.Services.Syncer.Sync(t.Context(), w.ServerID(t, "zebra", "jira"))
	p, err := w.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	w.Services.Calls.Record(models.Call{At: time.Now().UTC(), ProjectID: p.Project.ID, Principal: "key:gone", Tool: "clock__x", DurationUS: 2_000, Outcome: models.CallToolError})
	main := func(path string) string {
		body := w.send(t, path, nil).Body
		return body[max(0, strings.Index(body, "<main")):]
	}
	order := func(path string, names ...string) {
		t.Helper()
		body, at := main(path), 0
		for _, name := range names {
			i := strings.Index(body[at:], ">"+name+"</a>")
			if i < 0 {
				t.Errorf("%s: %s is missing or not in the order %v", path, name, names)
				return
			}
			at += i
		}
	}
	routestest.Eventually(t, "call", func() bool { return strings.Contains(main("/admin"), "1 call in the last 24 hours") })
	order("/admin", "Support", "Alpha", "Zebra")
	order("/admin?sort=name", "Alpha", "Support", "Zebra")
	order("/admin?sort=name&reverse=1", "Zebra", "Support", "Alpha")
	order("/admin?sort=last", "Support", "Alpha", "Zebra")
	order("/admin?sort=failed", "Support", "Alpha")
	body := main("/admin")
	for _, text := range []string{"Keys · 1", "Sign-in", "Open", "1 of 1 up", "jira down", "No servers yet", "No calls yet", "100%", "3 projects · 2 servers · 1 call in the last 24 hours", `aria-sort="descending"`} {
		if !strings.Contains(body, text) {
			t.Errorf("list lacks %q", text)
		}
	}
	if body := main("/admin?state=attention"); strings.Contains(body, ">Alpha</a>") || !strings.Contains(body, ">Zebra</a>") {
		t.Error("filter of attention shows other projects")
	}
	if body := main("/admin?query=nothing-like-this"); !strings.Contains(body, "No project matches") {
		t.Error("search without matches")
	}
}
