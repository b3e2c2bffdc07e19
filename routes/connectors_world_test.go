package routes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/background"
	"mcpgateway/services/runner/dial"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// balancer is a TCP proxy that gives each connection to the next replica. Tests
// cut its connections.
type balancer struct {
	url string

	mu    sync.Mutex
	to    []string // addresses
	next  int
	conns map[net.Conn]bool
	down  bool
}

func newBalancer(t *testing.T, origins ...string) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{url: "http://" + listener.Addr().String(), conns: map[net.Conn]bool{}}
	for _, origin := range origins {
		b.to = append(b.to, strings.TrimPrefix(origin, "http://"))
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { b.pass(c) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		b.cut(true)
		running.Wait()
	})
	return b
}

// pass copies a connection in both directions until one side ends.
func (b *balancer) pass(c net.Conn) {
	defer c.Close()
	b.mu.Lock()
	to, down := b.to[b.next%len(b.to)], b.down
	b.next++
	b.mu.Unlock()
	if down {
		return
	}
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	b.mu.Lock()
	b.conns[c], b.conns[up] = true, true
	b.mu.Unlock()
	ended := make(chan struct{}, 2)
	for from, to := range map[net.Conn]net.Conn{c: up, up: c} {
		go func() {
			_, _ = io.Copy(to, from)
			ended <- struct{}{}
		}()
	}
	<-ended
	_, _ = c.Close(), up.Close()
	<-ended
	b.mu.Lock()
	delete(b.conns, c)
	delete(b.conns, up)
	b.mu.Unlock()
}

// cut closes all connections. While the balancer is down, new ones fail.
func (b *balancer) cut(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
	for c := range b.conns {
		_ = c.Close()
	}
}

// remoteRunner is the handler of a runner with programs that are MCP servers of the
// test.
type remoteRunner struct {
	programs map[string]http.Handler

	mu      sync.Mutex
	list    wire.List
	changed chan struct{}
}

func newRemoteRunner(names ...string) *remoteRunner {
	r := &remoteRunner{programs: map[string]http.Handler{}, changed: make(chan struct{})}
	for _, name := range names {
		r.programs[name] = upstreamtest.New(upstreamtest.Options{Name: name, Tools: upstreamtest.Standard(2), Path: wire.PathServer + name + "/mcp"})
	}
	r.set(names...)
	return r
}

// set replaces the list.
func (r *remoteRunner) set(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = wire.List{Version: wire.Version, Runner: "fake", Files: []wire.File{}, Servers: []wire.Server{}}
	for _, name := range names {
		r.list.Servers = append(r.list.Servers, wire.Server{Name: name, Hash: "hash", State: wire.StateRunning, Since: time.Now(), SessionMode: "shared", Program: "fake"})
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *remoteRunner) current() (list []byte, changed chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, _ = json.Marshal(r.list)
	return list, r.changed
}

func (r *remoteRunner) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	switch name, _, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, wire.PathServer), "/"); {
	case q.URL.Path == wire.PathServers:
		list, _ := r.current()
		_, _ = w.Write(list)
	case q.URL.Path == wire.PathEvents:
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			list, changed := r.current()
			fmt.Fprintf(w, "data: %s\n\n", list)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-q.Context().Done():
				return
			case <-changed:
			}
		}
	case r.programs[name] != nil:
		r.programs[name].ServeHTTP(w, q)
	default:
		http.NotFound(w, q)
	}
}

// connectorWorld has replicas behind a balancer, and the runner of another
// computer.
type connectorWorld struct {
	apps   []*routestest.App
	lb     *balancer
	runner *remoteRunner
	id     string // of the connector
	token  string
	key    string
}

func newConnectorWorld(t *testing.T, dsn string, replicas int) *connectorWorld {
	t.Helper()
	w := &connectorWorld{runner: newRemoteRunner("echo", "other")}
	var origins []string
	for range replicas {
		a := routestest.New(t, dsn)
		w.apps = append(w.apps, a)
		origins = append(origins, a.Serve(t))
	}
	w.apps[0].Apply(t, `{"projects":{"p":{"authMode":"api_key","mcpServers":{"other":{"url":"http://127.0.0.1:1/mcp","enabled":false}}},"q":{"authMode":"api_key"}}}`)
	w.lb = newBalancer(t, origins...)
	_, w.key = w.apps[0].Key(t, "p", time.Hour)
	var made struct{ ID, Token string }
	w.admin(t, "POST", "/api/projects/p/connectors", `{"name":"laptop"}`, 201, &made)
	w.id, w.token = made.ID, made.Token
	return w
}

// admin sends a request of an administrator to the first replica.
func (w *connectorWorld) admin(t *testing.T, method, path, body string, status int, into any) webtest.Response {
	t.Helper()
	a := webtest.Send(t, w.apps[0].App, webtest.Case{Method: method, Path: path, Body: body, Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken}})
	if a.Status != status {
		t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(a.Body), into); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// dial starts a runner that connects through the balancer until the test ends.
func (w *connectorWorld) dial(t *testing.T, prefix string) (*dial.Dialer, *routestest.Log) {
	t.Helper()
	logged := &routestest.Log{}
	log := slog.New(slog.NewTextHandler(logged, nil))
	d, err := dial.New(dial.Options{
		URL: w.lb.url, Token: secrets.NewValue(w.token), Prefix: prefix, Log: log, Tasks: background.New(log),
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, MinDelay: 10 * time.Millisecond, MaxDelay: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, w.runner) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("log of the runner:\n%s", logged)
		}
	})
	return d, logged
}

// project returns the ID of project p.
func (w *connectorWorld) project(t *testing.T) string {
	t.Helper()
	p, err := w.apps[0].Services.Projects.Project(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// connectorServer is a server as the API shows it.
type connectorServer struct {
	ID, Alias, Transport, URL, DefinitionPolicy string
}

// servers returns the servers of project p by alias.
func (w *connectorWorld) servers(t *testing.T) map[string]connectorServer {
	t.Helper()
	var list struct{ Items []connectorServer }
	w.admin(t, "GET", "/api/projects/p/servers", "", 200, &list)
	all := map[string]connectorServer{}
	for _, s := range list.Items {
		all[s.Alias] = s
	}
	return all
}

// call calls the echo tool at a replica and returns the response.
func (w *connectorWorld) call(t *testing.T, a *routestest.App, tool string) string {
	t.Helper()
	return webtest.Send(t, a.App, webtest.Case{
		Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"hello from afar"}}}`,
		Header: map[string]string{"Authorization": "Bearer " + w.key, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"},
	}).Body
}
