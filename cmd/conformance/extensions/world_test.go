//go:build conformance

// Package extensions tests clients and servers of other programs' SDKs through a
// running gateway: what a server offers to a client that reaches it directly, it must
// offer through the gateway.
package extensions

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpgateway/cmd/internal/stage"
	"mcpgateway/services/background/leaktest"
)

const startLimit = 30 * time.Second

// Paths of the built programs.
var binary, mcpGo string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "extensions-")
	if err == nil {
		binary, err = stage.Build(context.Background(), folder, "gateway", stage.GatewayPackage)
	}
	if err == nil {
		mcpGo, err = buildMCPGo(context.Background(), folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := leaktest.Run(m)
	_ = os.RemoveAll(folder) // in the system's temporary folder
	os.Exit(code)
}

// upstream is a server in another program.
type upstream struct {
	*stage.Process
	program stage.Program
	url     string
}

// startUpstream starts a server of the folder upstreams. It stops with the test.
func startUpstream(t *testing.T, script string, env ...string) *upstream {
	t.Helper()
	return startScript(t, filepath.Join("..", "upstreams", script), env...)
}

// startEverything starts the official server-everything.
func startEverything(t *testing.T) *upstream {
	t.Helper()
	return startScript(t, filepath.Join("..", "..", "..", "playwright", "support", "everything.mjs"))
}

func startScript(t *testing.T, path string, env ...string) *upstream {
	t.Helper()
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return startProgram(t, stage.Program{Name: filepath.Base(path), Path: "node", Args: []string{absolute}, Env: env})
}

// startProgram starts a server that prints READY and its URL. Env is added to a bare
// environment.
func startProgram(t *testing.T, program stage.Program) *upstream {
	t.Helper()
	program.Env = append(stage.BareEnvironment(t.TempDir()), program.Env...)
	program.Ready = func(line string) (string, bool) { return strings.CutPrefix(line, "READY ") }
	u := &upstream{program: program}
	u.start(t)
	t.Cleanup(func() { u.Stop() })
	return u
}

func (u *upstream) start(t *testing.T) {
	t.Helper()
	p, err := stage.Start(t.Context(), u.program)
	if err != nil {
		t.Fatal(err)
	}
	u.Process = p
	if u.url, err = p.Await(t.Context(), startLimit); err != nil {
		t.Fatal(err)
	}
}

// restart stops the server and starts it on the same port.
func (u *upstream) restart(t *testing.T) {
	t.Helper()
	u.Stop()
	address, err := url.Parse(u.url)
	if err != nil {
		t.Fatal(err)
	}
	u.program.Env = append(u.program.Env, "PORT="+address.Port())
	u.start(t)
}

// gateway is a gateway with one project, which requires no keys unless stated.
type gateway struct {
	*stage.Gateway
	home    *stage.Home
	servers map[string]stage.Server
	mode    string
}

const project = "work"

// startGateway starts a gateway whose project has these servers. It waits for their
// tools.
func startGateway(t *testing.T, mode string, servers map[string]stage.Server) *gateway {
	t.Helper()
	home, err := stage.NewHome(binary, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{home: home, servers: servers, mode: mode}
	g.apply(t)
	if g.Gateway, err = home.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Stop() })
	if mode == "none" {
		g.awaitTools(t, "")
	}
	return g
}

// open starts a gateway without keys. urls are the servers' URLs by alias.
func open(t *testing.T, urls map[string]string) *gateway {
	t.Helper()
	servers := map[string]stage.Server{}
	for alias, url := range urls {
		servers[alias] = stage.Server{URL: url}
	}
	return startGateway(t, "none", servers)
}

// apply stores the project's servers, also while the gateway runs.
func (g *gateway) apply(t *testing.T) {
	t.Helper()
	err := g.home.Apply(t.Context(), map[string]stage.Project{project: {AuthMode: g.mode, Servers: g.servers}})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitTools waits until tools of every enabled server are listed.
func (g *gateway) awaitTools(t *testing.T, key string) {
	t.Helper()
	var aliases []string
	for alias, server := range g.servers {
		if !server.Disabled {
			aliases = append(aliases, alias)
		}
	}
	if err := g.AwaitTools(t.Context(), project, key, aliases...); err != nil {
		t.Fatal(err)
	}
}

// restart stops the gateway and starts it on the same address.
func (g *gateway) restart(t *testing.T) {
	t.Helper()
	g.Stop()
	again, err := g.home.ServeAt(t.Context(), g.Address)
	if err != nil {
		t.Fatal(err)
	}
	g.Gateway = again
}

// replica starts another process on the same database.
func (g *gateway) replica(t *testing.T) *stage.Gateway {
	t.Helper()
	r, err := g.home.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

// key returns a new API key.
func (g *gateway) key(t *testing.T, name string) string {
	t.Helper()
	key, err := g.home.NamedKey(t.Context(), project, name)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// url returns the URL of the project's endpoint.
func (g *gateway) url() string { return g.Endpoint(project) }

// eventually repeats attempt until it succeeds.
func eventually(t *testing.T, what string, attempt func() error) {
	t.Helper()
	err := stage.Eventually(t.Context(), startLimit, what, func(context.Context) error { return attempt() })
	if err != nil {
		t.Fatal(err)
	}
}

// want fails the test if got differs from expected.
func want[T comparable](t *testing.T, what string, got, expected T) {
	t.Helper()
	if got != expected {
		t.Errorf("%s: got %s, want %s", what, fmt.Sprint(got), fmt.Sprint(expected))
	}
}

// add adds a server to the project while the gateway runs.
func (g *gateway) add(t *testing.T, alias, url string) {
	t.Helper()
	g.servers[alias] = stage.Server{URL: url}
	g.apply(t)
	g.awaitTools(t, "")
}
