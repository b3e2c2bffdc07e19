package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"sync"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/upstream/upstreamtest"
)

// demoSlug is the project of the demo.
const demoSlug = "demo"

// demo is a project with two real MCP servers, which run in this process. It
// is for gateways on loopback alone: nobody is asked who they are.
type demo struct {
	services *services.Services
	log      *slog.Logger

	mu   sync.Mutex
	stop func() // ends the servers; nil while they do not run
}

func newDemo(s *services.Services, log *slog.Logger) *demo { return &demo{services: s, log: log} }

// demoPath is the path of a demo server. By it a later process knows that the
// server ended with an earlier one and is its own to run.
func demoPath(name string) string { return "/demo/" + name }

// Offered reports whether there could be a demo project and is none.
func (d *demo) Offered(ctx context.Context) (bool, error) {
	if !d.services.Config.LoopbackListener {
		return false, nil
	}
	_, err := d.services.Projects.Project(ctx, demoSlug)
	if fault.Is(err, fault.CodeNotFound) {
		return true, nil
	}
	return false, err
}

// Load creates the demo project, starts its servers and reads their tools.
func (d *demo) Load(ctx context.Context) error {
	if err := d.Start(ctx); err != nil {
		return err
	}
	d.Read(ctx)
	return nil
}

// Start starts the servers and points the demo project at them. The project is
// created once; later starts only renew the servers' addresses, so that what
// an admin changed stays.
func (d *demo) Start(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		return nil
	}
	project, err := d.services.Projects.Project(ctx, demoSlug)
	if fault.Is(err, fault.CodeNotFound) {
		name, open, on := "Demo", models.AuthNone, true
		text := "Two small real MCP servers, to try the gateway with."
		return d.serve(ctx, &projects.ProjectDeclaration{Name: &name, Description: &text, AuthMode: &open, CodeModeEnabled: &on}, func(string) bool { return true })
	}
	if err != nil {
		return err
	}
	present, err := d.present(ctx, project)
	if err != nil {
		return err
	}
	return d.serve(ctx, &projects.ProjectDeclaration{}, func(name string) bool { _, kept := present[name]; return kept })
}

// Resume starts the servers again if the project has one that an earlier
// process ran.
func (d *demo) Resume(ctx context.Context) error {
	if !d.services.Config.LoopbackListener {
		return nil
	}
	project, err := d.services.Projects.Project(ctx, demoSlug)
	if fault.Is(err, fault.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	present, err := d.present(ctx, project)
	if err != nil {
		return err
	}
	for name, address := range present {
		if u, err := url.Parse(address); err == nil && u.Hostname() == "127.0.0.1" && u.Path == demoPath(name) {
			return d.Start(ctx)
		}
	}
	return nil
}

// present returns the addresses of the project's servers by their aliases.
func (d *demo) present(ctx context.Context, project models.Project) (map[string]string, error) {
	rows, err := d.services.Projects.Servers(ctx, project.ID)
	addresses := map[string]string{}
	for _, row := range rows {
		addresses[row.Alias] = row.URL
	}
	return addresses, err
}

// serve starts the wanted servers and applies the project with them.
func (d *demo) serve(ctx context.Context, project *projects.ProjectDeclaration, wanted func(name string) bool) (err error) {
	serving, stop := context.WithCancel(context.Background()) //nolint:contextcheck // the servers outlive the request that may have asked for them
	defer func() {
		if err != nil {
			stop()
		}
	}()
	project.Servers = map[string]*projects.ServerDeclaration{}
	for _, options := range upstreamtest.Demo() {
		if !wanted(options.Name) {
			continue
		}
		options.Path = demoPath(options.Name)
		address, err := upstreamtest.New(options).Listen(serving, "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("start the demo server %s: %w", options.Name, err)
		}
		project.Servers[options.Name] = &projects.ServerDeclaration{URL: &address}
	}
	declaration := &projects.Declaration{Projects: map[string]*projects.ProjectDeclaration{demoSlug: project}}
	if _, err := d.services.Projects.Apply(ctx, declaration, projects.ApplyOptions{}); err != nil {
		return err
	}
	d.stop = stop
	return nil
}

// Stop ends the servers.
func (d *demo) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
}

// Read reads the demo's tools before anybody is told to call one.
func (d *demo) Read(ctx context.Context) {
	project, err := d.services.Directory.Project(demoSlug)
	if err != nil {
		d.log.Warn("the demo project is gone", "error", err)
		return
	}
	for _, server := range project.Servers {
		if _, err := d.services.Syncer.Sync(ctx, server.Config.ID); err != nil {
			d.log.Warn("a demo server cannot be read", "server", server.Config.Alias, "error", err)
		}
	}
}

// printDemo prints a line that calls a tool of the demo project.
func printDemo(w io.Writer, url string) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock__current_time","arguments":{"zone":"Europe/Berlin"}}}`
	fmt.Fprintf(w, "The demo project is at %s\nTry it:\n\n  curl -s %s -H 'Content-Type: application/json' -d '%s'\n\n", url, url, call)
}
