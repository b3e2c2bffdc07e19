package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/upstream/upstreamtest"
)

// demoSlug is the project that --demo creates.
const demoSlug = "demo"

// startDemo starts the demo's two MCP servers in this process and points the
// demo project at them. The project is created once; later starts only renew
// the servers' addresses, so that what an admin changed stays. stop ends the
// servers.
func startDemo(ctx context.Context, s *services.Services) (stop func(), err error) {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			stop()
		}
	}()
	servers := map[string]*projects.ServerDeclaration{}
	for _, options := range upstreamtest.Demo() {
		url, err := upstreamtest.New(options).Listen(serving, "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("start the demo server %s: %w", options.Name, err)
		}
		servers[options.Name] = &projects.ServerDeclaration{URL: &url}
	}
	d := &projects.ProjectDeclaration{Servers: servers}
	project, err := s.Projects.Project(ctx, demoSlug)
	switch {
	case fault.Is(err, fault.CodeNotFound):
		name, open, on := "Demo", models.AuthNone, true
		text := "Two small real MCP servers, to try the gateway with."
		d.Name, d.Description, d.AuthMode, d.CodeModeEnabled = &name, &text, &open, &on
	case err != nil:
		return nil, err
	default:
		present, err := s.Projects.Servers(ctx, project.ID)
		if err != nil {
			return nil, err
		}
		kept := map[string]bool{}
		for _, row := range present {
			kept[row.Alias] = true
		}
		maps.DeleteFunc(servers, func(alias string, _ *projects.ServerDeclaration) bool { return !kept[alias] })
	}
	declaration := &projects.Declaration{Projects: map[string]*projects.ProjectDeclaration{demoSlug: d}}
	if _, err := s.Projects.Apply(ctx, declaration, projects.ApplyOptions{}); err != nil {
		return nil, err
	}
	return stop, nil
}

// readDemo reads the demo's tools before anybody is told to call one.
func readDemo(ctx context.Context, s *services.Services, log *slog.Logger) {
	project, err := s.Directory.Project(demoSlug)
	if err != nil {
		log.Warn("the demo project is gone", "error", err)
		return
	}
	for _, server := range project.Servers {
		if _, err := s.Syncer.Sync(ctx, server.Config.ID); err != nil {
			log.Warn("a demo server cannot be read", "server", server.Config.Alias, "error", err)
		}
	}
}

// printDemo prints a line that calls a tool of the demo project.
func printDemo(w io.Writer, url string) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock__current_time","arguments":{"zone":"Europe/Berlin"}}}`
	fmt.Fprintf(w, "The demo project is at %s\nTry it:\n\n  curl -s %s -H 'Content-Type: application/json' -d '%s'\n\n", url, url, call)
}
