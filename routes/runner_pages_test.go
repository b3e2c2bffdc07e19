package routes_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/connectors"
	"mcpgateway/services/runners/wire"
)

// fakeRunner is a runner with one program.
type fakeRunner struct {
	mu     sync.Mutex
	server wire.Server
	posts  []string
	lists  chan wire.List
}

func (f *fakeRunner) list() wire.List {
	f.mu.Lock()
	defer f.mu.Unlock()
	return wire.List{Version: wire.Version, Runner: "r1", Servers: []wire.Server{f.server}}
}

// set changes the program and sends its list.
func (f *fakeRunner) set(change func(s *wire.Server)) {
	f.mu.Lock()
	change(&f.server)
	f.mu.Unlock()
	f.lists <- f.list()
}

func (f *fakeRunner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == wire.PathServers:
		_ = json.NewEncoder(w).Encode(f.list())
	case path == wire.PathEvents:
		f.events(w, r)
	case strings.HasSuffix(path, "/"+wire.SegmentLog):
		_ = json.NewEncoder(w).Encode(wire.Log{Lines: []wire.Line{{At: time.Now(), Text: "<b>listening\u202e on stdio"}}})
	case r.Method == http.MethodPost && !strings.HasSuffix(path, "/"+wire.SegmentMCP):
		f.mu.Lock()
		f.posts = append(f.posts, path)
		f.mu.Unlock()
	default:
		http.NotFound(w, r)
	}
}

func (f *fakeRunner) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case list := <-f.lists:
			raw, _ := json.Marshal(list)
			_, _ = io.WriteString(w, "data: "+string(raw)+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// runnerWorld is a project with a program of a connector.
type runnerWorld struct {
	*routestest.Admin
	runner    *fakeRunner
	connector models.Connector
	path      string // of the program's page
}

func newRunnerWorld(t *testing.T) *runnerWorld {
	t.Helper()
	w := &runnerWorld{Admin: routestest.NewAdmin(t), runner: &fakeRunner{lists: make(chan wire.List)}}
	w.runner.server = wire.Server{Name: "files", Hash: "h", State: wire.StateRunning, Since: time.Now().Add(-3 * time.Hour), Program: "npx", Processes: 2, Memory: 84 << 20, Restarts: 3, LastExit: "exit code 1", SessionMode: "shared", StartTimeoutMS: 120_000}
	var project models.Project
	if err := w.Services.DB.First(&project, "slug = ?", "p").Error; err != nil {
		t.Fatal(err)
	}
	var err error
	if w.connector, _, err = w.Services.Connectors.Create(t.Context(), project.ID, connectors.Attributes{Name: "Ada's laptop"}); err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	go wire.Serve(t.Context(), theirs, w.runner, nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.Services.Runners.Attach(t.Context(), runners.Peer{Source: models.SourceConnector, ProjectID: project.ID, ConnectorID: w.connector.ID}, ours)
	}()
	t.Cleanup(func() { _ = theirs.Close(); <-ended })
	var row models.Server
	routestest.Eventually(t, "the program's server", func() bool {
		return w.Services.DB.Limit(1).Find(&row, "entry = ?", "files").RowsAffected == 1
	})
	w.path = "/admin/projects/p/servers/" + row.ID
	routestest.Eventually(t, "its record", func() bool { return w.Services.Runners.Record(row).Connected })
	return w
}

// page returns a page with status 200.
func (w *runnerWorld) page(t *testing.T, path string) string {
	t.Helper()
	status, body, _ := w.Send(t, path, nil)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d", path, status)
	}
	return body
}

func lacks(t *testing.T, name, body string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(body, text) {
			t.Errorf("%s lacks %q", name, text)
		}
	}
}

func TestProcessCard(t *testing.T) {
	w := newRunnerWorld(t)
	body := w.page(t, w.path)
	lacks(t, "page", body, ">Process</h2>", "npx", "84 MiB", "3 h 0 min", "exit code 1", "Process log", "&lt;b&gt;listening on stdio", `action="`+w.path+`/restart"`, `action="`+w.path+`/stop"`, "On another computer", "stdio, through a connector", "Stop files?", "Its runner's file has it. Remove it there first.")
	if strings.Contains(body, w.path+"/delete") {
		t.Error("a declared server can be deleted")
	}
	if strings.Contains(body, "<b>listening") || strings.Contains(body, "\u202e") {
		t.Error("output isn't escaped")
	}
	for _, action := range []string{"restart", "stop"} {
		if status, _, location := w.Send(t, w.path+"/"+action, url.Values{}); status != http.StatusSeeOther || location != w.path {
			t.Errorf("%s: status %d to %s", action, status, location)
		}
	}
	w.runner.mu.Lock()
	posts := strings.Join(w.runner.posts, " ")
	w.runner.mu.Unlock()
	if posts != "/v1/servers/files/restart /v1/servers/files/stop" {
		t.Errorf("the runner received %s", posts)
	}
	if status, _, location := w.Send(t, w.path+"/stop", nil); status != http.StatusSeeOther || location != w.path {
		t.Errorf("GET of the form: status %d to %s", status, location)
	}
}

func TestStatesOfPrograms(t *testing.T) {
	w := newRunnerWorld(t)
	soon := time.Now().Add(8 * time.Second)
	for _, tc := range []struct {
		name   string
		change func(s *wire.Server)
		want   string
	}{
		{"starting", func(s *wire.Server) {
			s.State, s.Since, s.Message = wire.StateStarting, time.Now().Add(-12*time.Second), "Starting, 3 s: npm warn old"
		}, "Starting, 12 s: npm warn old"},
		{"backoff", func(s *wire.Server) {
			s.State, s.Message, s.RetryAt = wire.StateBackoff, "Ended (exit code 1), again in 59 s", &soon
		}, "Ended (exit code 1), again in "},
		{"failed", func(s *wire.Server) {
			s.State, s.Message, s.RetryAt = wire.StateFailed, "Ended 5 times in 10 minutes", nil
		}, "Ended 5 times in 10 minutes"},
		{"held", func(s *wire.Server) { s.State, s.Message = wire.StateHeld, "" }, "Changed in the file: reload needed"},
	} {
		w.runner.set(tc.change)
		for _, path := range []string{w.path, "/admin/projects/p/servers"} {
			routestest.Eventually(t, tc.name+" on "+path, func() bool { return strings.Contains(w.page(t, path), tc.want) })
		}
		if strings.Contains(w.page(t, w.path), "59 s") {
			t.Errorf("%s: the remaining time is the one of the list", tc.name)
		}
	}
}

func TestSettingsOfProgram(t *testing.T) {
	w := newRunnerWorld(t)
	body := w.page(t, w.path+"/edit")
	lacks(t, "form", body, "come from its runner's file", `name="timeout"`)
	for _, not := range []string{`name="url"`, `name="transport"`, `name="sessionMode"`, `name="authType"`, `name="connection"`} {
		if strings.Contains(body, not) {
			t.Errorf("form has %s", not)
		}
	}
	_, seen, _ := strings.Cut(body, `name="seen" value="`)
	seen, _, _ = strings.Cut(seen, `"`)
	form := url.Values{"seen": {seen}, "alias": {"disk"}, "timeout": {"7"}, "taskTimeout": {"600"}, "maxConcurrent": {"5"}, "protocolVersion": {"auto"}, "definitionPolicy": {"approve"}}
	if status, body, _ := w.Send(t, w.path+"/edit", form); status != http.StatusSeeOther {
		_, problem, _ := strings.Cut(body, `role="alert"`)
		t.Fatalf("status %d: %.600s", status, problem)
	}
	lacks(t, "page", w.page(t, w.path), ">disk</h1>", "7 s")
}

func TestConnectorPages(t *testing.T) {
	w := newRunnerWorld(t)
	const list = "/admin/projects/p/connectors"
	lacks(t, "keys", w.page(t, "/admin/projects/p/keys"), `href="`+list+`"`)
	lacks(t, "list", w.page(t, list), "Ada&#39;s laptop", "gwc_", "Never connected", "Revoke Ada&#39;s laptop?", `name="expires"`)
	for name, form := range map[string]url.Values{"name": {"name": {""}, "expires": {"90"}}, "expires": {"name": {"x"}, "expires": {"1000"}}} {
		if status, body, _ := w.Send(t, list, form); status == http.StatusSeeOther || !strings.Contains(body, `aria-invalid="true"`) {
			t.Errorf("invalid %s: status %d", name, status)
		}
	}
	status, _, to := w.Send(t, list, url.Values{"name": {"Office"}, "expires": {"30"}})
	if status != http.StatusSeeOther || !strings.HasPrefix(to, list+"/") {
		t.Fatalf("status %d to %s", status, to)
	}
	lacks(t, "page", w.page(t, to), "Office", "Waiting for the computer…", "gateway runner --local servers.json \\\n  --connect http://127.0.0.1:8080 \\\n  --token-file token<")
	if status, _, _ := w.Send(t, strings.Replace(to, "/p/", "/other/", 1), nil); status != http.StatusNotFound {
		t.Errorf("in another project: status %d", status)
	}
	lacks(t, "page of the connected one", w.page(t, list+"/"+w.connector.ID), "Its servers", "files")
	if status, _, location := w.Send(t, to+"/revoke", url.Values{}); status != http.StatusSeeOther || location != list {
		t.Errorf("revoke: status %d to %s", status, location)
	}
	lacks(t, "list", w.page(t, list), "Revoked")
}

func TestWizardShowsHowToRunPrograms(t *testing.T) {
	w := routestest.NewAdmin(t)
	const entry = `{"mcpServers":{"files":{"command":"npx","args":["-y","@p/files","--key=plainvalue","--token","othervalue","sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaa","/data"],"env":{"TOKEN":"ghp_0123456789abcdefghijklmnopqrstuvwxyz"}}}}`
	status, body, _ := w.Send(t, "/admin/projects/p/servers/new", url.Values{"pasted": {entry}})
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	lacks(t, "page", body, "1 server runs on a computer", "Runs on a computer", "Set up", "Commands are taken only from a file", "Set TOKEN, SECRET in the environment of the runner.", "This machine", "Another computer", "Docker", "gateway serve --local servers.json", "--connect http://127.0.0.1:8080", "&#34;command&#34;: &#34;npx&#34;", "@p/files", "&#34;TOKEN&#34;: &#34;${TOKEN}&#34;", `formaction="/admin/projects/p/connectors"`)
	if strings.Contains(body, "Servers we can't reach") || strings.Contains(body, `<details><summary class="btn small"`) {
		t.Error("page offers to add the program, or hides its setup")
	}
	for _, secret := range []string{"ghp_0123", "sk-ant-api03", "plainvalue", "othervalue"} {
		if strings.Contains(body, secret) {
			t.Errorf("page shows %s", secret)
		}
	}
	var n int64
	if err := w.Services.DB.Model(&models.Server{}).Where("alias = ?", "files").Count(&n).Error; err != nil || n != 0 {
		t.Errorf("%d servers are stored (%v)", n, err)
	}
}
