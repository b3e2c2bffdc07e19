package routes_test

import (
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
	"mcpgateway/web/webtest"
)

// withShortLimit returns the application with a limit that every request exceeds
// while the database hangs.
func withShortLimit(a *routestest.App) *fiber.App {
	return routes.NewWithLimit(a.Services, slog.New(slog.DiscardHandler), 50*time.Millisecond)
}

// deadlineResponse is the response to a request while the database hangs.
var deadlineResponse = webtest.Case{Status: 503, WantHeader: map[string]string{"Retry-After": "5"}, WantBody: []string{"exceeded its limit of 50ms"}}

func TestDeadlineWhileDatabaseHangs(t *testing.T) {
	dsn, proxy := proxied(t, modelstest.Postgres(t))
	a := routestest.New(t, dsn)
	a.Apply(t, `{"projects":{"p":{}}}`)
	var admin caller
	for _, c := range allCallers(t, a) {
		if c.name == "admin" {
			admin = c
		}
	}
	program := map[string]string{"Authorization": "Bearer " + routestest.AdminToken}
	person := map[string]string{"Cookie": "sid=" + admin.cookie, "Accept": "text/html"}
	cases := []webtest.Case{
		{Path: "/api/projects", Header: program},
		{Path: "/api/projects", Header: program, Body: `{"projectSlug":"new"}`},
		{Path: "/api/projects/p/keys", Header: program},
		{Path: "/api/audit", Header: program},
		{Path: "/api/calls", Header: program},
		{Path: "/api/people", Header: program},
		{Path: "/admin", Header: person},
		{Path: "/admin/audit", Header: person},
		{Path: "/admin/live?topics=nav", Header: person}, // its guard uses the database
		{Path: "/", Header: person},
		{Path: "/me/apps", Header: person},
		{Method: "POST", Path: "/login", Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}, Body: "email=a%40example.com&password=x"},
	}
	app := withShortLimit(a)
	proxy.hang()
	defer proxy.resume()
	for _, c := range cases {
		want := deadlineResponse
		want.Name = c.Method + c.Path
		t.Run(want.Name, func(t *testing.T) { webtest.Check(t, want, webtest.Send(t, app, c)) })
	}
	t.Run("unknown path without a user", func(t *testing.T) {
		webtest.Check(t, webtest.Case{Status: 404, WantBody: []string{"/login"}}, webtest.Send(t, app, webtest.Case{Path: "/no-such-page", Header: person}))
	})
	t.Run("project endpoints", func(t *testing.T) {
		webtest.Check(t, webtest.Case{Status: 401}, webtest.Send(t, app, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}))
	})
	proxy.resume()
	for _, c := range cases[:1] {
		routestest.Eventually(t, "database is used again", func() bool { return webtest.Send(t, a.App, c).Status == 200 })
	}
}

func TestDeadlineWhileDatabaseIsLocked(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := routestest.New(t, dsn)
		other := modelstest.Open(t, dsn)
		lock := map[string]string{"sqlite": "UPDATE projects SET name = name", "postgres": "LOCK TABLE projects"}[other.Name()]
		held := other.Begin()
		if err := held.Exec(lock).Error; err != nil {
			t.Fatal(err)
		}
		create := webtest.Case{Path: "/api/projects", Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken}, Body: `{"projectSlug":"new"}`}
		webtest.Check(t, deadlineResponse, webtest.Send(t, withShortLimit(a), create))
		if err := held.Rollback().Error; err != nil {
			t.Fatal(err)
		}
		if got := webtest.Send(t, a.App, create); got.Status != 201 {
			t.Errorf("after the lock: %d %s", got.Status, got.Body)
		}
	})
}

func TestDeadlineExemptRoutesExist(t *testing.T) {
	known := map[string]bool{}
	for _, row := range routes.Table(routestest.New(t, modelstest.SQLite(t)).Services) {
		known[row.Method+" "+row.Path] = true
	}
	for _, route := range routes.BoundedElsewhere() {
		if !known[route] {
			t.Errorf("no route %s", route)
		}
	}
}

// hangingProxy is a proxy between a program and its database.
type hangingProxy struct {
	listener net.Listener
	socket   string

	mu    sync.Mutex
	gate  chan struct{} // closed while bytes are forwarded
	conns []net.Conn
}

// proxied returns the database's address through a proxy that runs until the
// test ends.
func proxied(t *testing.T, dsn string) (string, *hangingProxy) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &hangingProxy{listener: listener, socket: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), gate: make(chan struct{})}
	close(p.gate)
	var running sync.WaitGroup
	running.Go(func() { p.serve(&running) })
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.resume()
		running.Wait()
	})
	q := u.Query()
	q.Del("host")
	u.Host, u.RawQuery = listener.Addr().String(), q.Encode()
	return u.String(), p
}

func (p *hangingProxy) serve(running *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		running.Go(func() { p.copy(server, client) })
		running.Go(func() { p.copy(client, server) })
	}
}

// copy forwards bytes while the gate is open.
func (p *hangingProxy) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		gate := p.gate
		p.mu.Unlock()
		<-gate
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hang stops forwarding in both directions. Connections stay open.
func (p *hangingProxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// resume restarts forwarding.
func (p *hangingProxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}
