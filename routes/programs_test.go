package routes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream/upstreamtest"
)

// localRunner is a runner in this process whose program is an upstream.
type localRunner struct {
	program *upstreamtest.Server

	mu       sync.Mutex
	server   wire.Server
	left     bool   // the program is not in the file
	fails    string // text of the state, if the program does not respond
	requests []string
	woken    chan struct{}
}

func (r *localRunner) set(edit func(*localRunner)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	edit(r)
	close(r.woken)
	r.woken = make(chan struct{})
}

func (r *localRunner) state() (list []byte, fails string, woken chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hash, servers := "abc", []wire.Server{r.server}
	if r.left {
		hash, servers = "def", nil
	}
	list, _ = json.Marshal(wire.List{Version: wire.Version, Runner: "r1", Files: []wire.File{{Path: "/srv/mcp.json", SHA256: hash}}, Servers: servers})
	return list, r.fails, r.woken
}

func (r *localRunner) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	list, fails, woken := r.state()
	switch path := q.URL.Path; {
	case path == wire.PathServers:
		_, _ = w.Write(list)
	case path == wire.PathEvents:
		for {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", list)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-woken:
				list, _, woken = r.state()
			case <-q.Context().Done():
				return
			}
		}
	case strings.HasSuffix(path, "/log"):
		_, _ = w.Write([]byte(`{"lines":[{"at":"2026-03-01T12:00:00Z","text":"listening, api_key=hunter22"}]}`))
	case !strings.HasSuffix(path, "/mcp"):
		r.mu.Lock()
		r.requests = append(r.requests, q.Method+" "+path)
		r.mu.Unlock()
	case fails != "":
		w.Header().Set(wire.HeaderFailure, wire.FailureRefused)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":%q}}`, fails)
	default:
		q.URL.Path = "/mcp"
		r.program.ServeHTTP(w, q)
	}
}

// programWorld is a team whose project p has the program notes, in the file of
// this machine's runner.
type programWorld struct {
	*team
	runner *localRunner
	id     string
	cut    func() // ends the runner's connection
}

func newProgramWorld(t *testing.T, dsn string) *programWorld {
	t.Helper()
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	t.Cleanup(up.Close)
	w := &programWorld{team: newTeamOf(t, routestest.NewAdminOn(t, dsn)), runner: &localRunner{program: up, woken: make(chan struct{}), server: wire.Server{
		Name: "notes", Hash: "h1", State: wire.StateStopped, Since: time.Now(), Program: "npx", Starts: 3, Processes: 1, Memory: 1 << 20, LastExit: "exit code 1",
	}}}
	if err := declareLocal(t, w.admin.App, models.SourceLocal, `{"projects":{"p":{"mcpServers":{"notes":{"command":"npx"}}}}}`); err != nil {
		t.Fatal(err)
	}
	w.id = w.admin.ServerID(t, "p", "notes")
	return w
}

// connect connects the runner.
func (w *programWorld) connect(t *testing.T) {
	t.Helper()
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { wire.Serve(ctx, theirs, w.runner, nil) })
	running.Go(func() { _ = w.admin.Services.Runners.Attach(ctx, runners.Peer{Source: models.SourceLocal}, ours) })
	w.cut = func() { cancel(); running.Wait() }
	t.Cleanup(w.cut)
}

// record returns the record of the program.
func (w *programWorld) record(t *testing.T) (r struct {
	URL, Transport string
	Runner         map[string]any
},
) {
	t.Helper()
	status, body := w.admin.Ask(t, http.MethodGet, "/api/servers/"+w.id, "", false)
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != http.StatusOK {
		t.Fatalf("record: %d %s", status, body)
	}
	return r
}

func (w *programWorld) awaitState(t *testing.T, state wire.State) {
	t.Helper()
	routestest.Eventually(t, "state "+string(state), func() bool { return w.record(t).Runner["state"] == string(state) })
}

// callTool calls the program's tool and returns the whole response.
func (w *programWorld) callTool(t *testing.T) string {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__echo","arguments":{"text":"hello"}}}`
	_, key := w.admin.Key(t, "p", 0)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/mcp/p/request", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"} {
		request.Header.Set(name, value)
	}
	return w.send(t, request)
}

// send sends a request and returns the body of the response.
func (w *programWorld) send(t *testing.T, request *http.Request) string {
	t.Helper()
	request.Host = "127.0.0.1:8080"
	response, err := w.admin.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newProgramWorld(t, dsn)
		if r := w.record(t); r.Transport != "stdio" || r.URL != "" || r.Runner["state"] != "offline" || r.Runner["since"] != nil {
			t.Errorf("record without the runner: %+v", r)
		}
		if got := w.callTool(t); !strings.Contains(got, "not been synced") {
			t.Errorf("call without the runner: %s", got)
		}
		w.connect(t)
		w.awaitState(t, wire.StateStopped)
		routestest.Eventually(t, "the first sync", func() bool {
			var row models.Server
			return w.admin.Services.DB.First(&row, "id = ?", w.id).Error == nil && row.ListedHash == "h1"
		})
		routestest.Eventually(t, "the tools", func() bool { return strings.Contains(w.callTool(t), "hello") })
		w.checkOperations(t)
		w.checkFailures(t)
		w.checkFile(t)
		w.checkConnection(t)
		w.checkAudit(t)
	})
}

// checkOperations uses the program as an administrator and as a maintainer.
func (w *programWorld) checkOperations(t *testing.T) {
	t.Helper()
	at, clock := "/api/servers/"+w.id, "/api/servers/"+w.ids["p"]["servers"]
	for _, c := range []struct {
		name   string
		admin  *routestest.Admin
		method string
		path   string
		csrf   bool
		status int
		body   string
	}{
		{"restart", w.admin, http.MethodPost, at + "/restart", true, http.StatusNoContent, ""},
		{"stop by a maintainer", w.maintainer, http.MethodPost, at + "/stop", true, http.StatusNoContent, ""},
		{"without CSRF token", w.admin, http.MethodPost, at + "/restart", false, http.StatusForbidden, "FORBIDDEN"},
		{"a server with a URL", w.admin, http.MethodPost, clock + "/restart", true, http.StatusConflict, "clock has a URL"},
		{"an unknown server", w.admin, http.MethodPost, "/api/servers/none/stop", true, http.StatusNotFound, "NOT_FOUND"},
		{"another project's server", w.maintainer, http.MethodPost, "/api/servers/" + w.ids["hidden-b"]["servers"] + "/stop", true, http.StatusNotFound, "NOT_FOUND"},
		{"log", w.admin, http.MethodGet, at + "/log", false, http.StatusOK, `{"lines":[{"at":"2026-03-01T12:00:00Z","text":"listening, api_key=[redacted]"}]}`},
		{"log for a maintainer", w.maintainer, http.MethodGet, at + "/log", false, http.StatusForbidden, ""},
		{"runners", w.admin, http.MethodGet, "/api/runners", false, http.StatusOK, `"files":[{"path":"/srv/mcp.json","sha256":"abc"}],"servers":[{"id":"` + w.id + `","runner":{"name":"notes"`},
		{"runners for a maintainer", w.maintainer, http.MethodGet, "/api/runners", false, http.StatusForbidden, ""},
	} {
		if status, body := c.admin.Ask(t, c.method, c.path, "", c.csrf); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, body, c.status, c.body)
		}
	}
	w.runner.mu.Lock()
	defer w.runner.mu.Unlock()
	if got := strings.Join(w.runner.requests, ", "); got != "POST /v1/servers/notes/restart, POST /v1/servers/notes/stop" {
		t.Errorf("the runner received %s", got)
	}
}

// checkFailures checks how callers see the states of a program.
func (w *programWorld) checkFailures(t *testing.T) {
	t.Helper()
	const text = "Ended (exit code 1), again in 8 s: no such file"
	w.runner.set(func(r *localRunner) {
		retry := time.Now().Add(8 * time.Second)
		r.server.State, r.server.Message, r.server.RetryAt, r.fails = wire.StateBackoff, text, &retry, text
	})
	w.awaitState(t, wire.StateBackoff)
	if r := w.record(t).Runner; r["message"] != text || r["retryAt"] == nil || r["program"] != "npx" || r["memory"] != float64(1<<20) || r["lastExit"] != "exit code 1" || r["restarts"] != 0.0 {
		t.Errorf("record: %v", r)
	}
	if got := w.callTool(t); !strings.Contains(got, "UPSTREAM_UNAVAILABLE") || !strings.Contains(got, text) {
		t.Errorf("call in the back-off: %s", got)
	}
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Authorization", "Bearer "+routestest.AdminToken)
	metrics := w.send(t, request)
	for _, want := range []string{`gateway_runner_exits_total{project="p",server="notes"} 2`, `gateway_runner_memory_bytes{project="p",server="notes"} 1.048576e+06`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// checkFile removes the program from its file and adds it again.
func (w *programWorld) checkFile(t *testing.T) {
	t.Helper()
	w.runner.set(func(r *localRunner) { r.left = true })
	w.awaitState(t, wire.StateUndeclared)
	if got := w.callTool(t); !strings.Contains(got, "not in its file") {
		t.Errorf("call of an undeclared server: %s", got)
	}
	w.runner.set(func(r *localRunner) { r.left, r.fails = false, "" })
	w.awaitState(t, wire.StateBackoff)
	routestest.Eventually(t, "the tools of the declared program", func() bool { return strings.Contains(w.callTool(t), "hello") })
}

// checkConnection ends the connection of the runner.
func (w *programWorld) checkConnection(t *testing.T) {
	t.Helper()
	w.cut()
	w.awaitState(t, wire.StateOffline)
	if got := w.callTool(t); !strings.Contains(got, "The runner is starting") {
		t.Errorf("call without the connection: %s", got)
	}
	if status, body := w.admin.Ask(t, http.MethodPost, "/api/servers/"+w.id+"/restart", "", true); status != http.StatusBadGateway || !strings.Contains(body, "UPSTREAM_UNAVAILABLE") {
		t.Errorf("restart without the connection: %d %s", status, body)
	}
}

func (w *programWorld) checkAudit(t *testing.T) {
	t.Helper()
	_, body := w.admin.Ask(t, http.MethodGet, "/api/audit?limit=1000", "", false)
	for _, want := range []string{`"action":"runner.started"`, `"/srv/mcp.json":"abc"`, `"/srv/mcp.json":"abc → def"`, `"/srv/mcp.json":"def → abc"`, `"action":"server.restarted"`, `"action":"server.stopped"`, `"action":"server.undeclared"`, `"action":"server.declared"`} {
		if strings.Count(body, want) != 1 {
			t.Errorf("audit has %d of %s", strings.Count(body, want), want)
		}
	}
}
