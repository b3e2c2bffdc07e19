// Package demo is the demo of the gateway: a project with two small MCP servers
// that run inside the gateway's process. It creates the project, starts and
// stops its servers, and holds the tools of both, Clock and TextTools.
package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/declaration"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/upstream/upstreamtest"
)

// slug is the slug of the demo project.
const slug = "demo"

// Project is a project with two real MCP servers, which run in this process. It
// is for gateways on loopback alone: nobody is asked who they are.
type Project struct {
	services *services.Services
	log      *slog.Logger

	mu   sync.Mutex
	stop func() // ends the servers; nil while they do not run
}

// New returns the demo of a gateway.
func New(s *services.Services, log *slog.Logger) *Project { return &Project{services: s, log: log} }

// serverPath is the path of a demo server. By it a later process knows that the
// server ended with an earlier one and is its own to run.
func serverPath(name string) string { return "/demo/" + name }

// Offered reports whether there could be a demo project and is none.
func (d *Project) Offered(ctx context.Context) (bool, error) {
	if !d.services.Config.LoopbackListener {
		return false, nil
	}
	_, err := d.services.Projects.Project(ctx, slug)
	if fault.Is(err, fault.CodeNotFound) {
		return true, nil
	}
	return false, err
}

// Load creates the demo project, starts its servers and reads their tools. It
// returns the project's slug, and CONFLICT where the project is not offered.
func (d *Project) Load(ctx context.Context) (string, error) {
	offered, err := d.Offered(ctx)
	if err != nil {
		return "", err
	}
	if !offered {
		return "", fault.Conflict("there is a project %q already, or this gateway listens to other machines", slug)
	}
	if err := d.Start(ctx); err != nil {
		return "", err
	}
	d.Read(ctx)
	return slug, nil
}

// Start starts the servers and points the demo project at them. The project is
// created once; later starts only renew the addresses of servers that are the
// demo's, so that what an admin changed stays. While another process with the
// same database runs them, they are left to it. It returns CONFLICT when the
// project has none of them.
func (d *Project) Start(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		return nil
	}
	own, err := d.own(ctx)
	if fault.Is(err, fault.CodeNotFound) {
		name, open, on := "Demo", models.AuthNone, true
		text := "Two small real MCP servers, to try the gateway with."
		return d.serve(ctx, &declaration.Project{Name: &name, Description: &text, AuthMode: &open, CodeModeEnabled: &on}, func(string) bool { return true })
	}
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return fault.Conflict("the project %q has none of the demo's servers: delete it to get the demo", slug)
	}
	if slices.ContainsFunc(own, func(row models.Server) bool { return d.answers(ctx, row.URL) }) {
		d.log.Info("the demo's servers run in another process with this database")
		return nil
	}
	return d.serve(ctx, &declaration.Project{}, func(name string) bool {
		return slices.ContainsFunc(own, func(row models.Server) bool { return row.Alias == name })
	})
}

// Resume starts the servers again if the project has one that an earlier
// process ran.
func (d *Project) Resume(ctx context.Context) error {
	if !d.services.Config.LoopbackListener {
		return nil
	}
	own, err := d.own(ctx)
	if fault.Is(err, fault.CodeNotFound) || err == nil && len(own) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return d.Start(ctx)
}

// own returns the demo project's servers that are the demo's. It returns
// NOT_FOUND without the project.
func (d *Project) own(ctx context.Context) ([]models.Server, error) {
	project, err := d.services.Projects.Project(ctx, slug)
	if err != nil {
		return nil, err
	}
	rows, err := d.services.Projects.Servers(ctx, project.ID)
	if err != nil {
		return nil, err
	}
	var own []models.Server
	for _, row := range rows {
		if u, err := url.Parse(row.URL); err == nil && u.Hostname() == "127.0.0.1" && u.Path == serverPath(row.Alias) {
			own = append(own, row)
		}
	}
	return own, nil
}

// answers reports whether an MCP server answers at the address of a demo server.
func (d *Project) answers(ctx context.Context, address string) bool {
	clients := egress.NewClients(egress.NewGuard(d.services.Config.EgressAllow))
	defer clients.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("{}"))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := clients.MCP().Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // of one that breaks off it is too little
	return strings.Contains(string(body), `"jsonrpc"`)
}

// serve starts the wanted servers and applies the project with them.
func (d *Project) serve(ctx context.Context, project *declaration.Project, wanted func(name string) bool) (err error) {
	serving, stop := context.WithCancel(context.Background()) //nolint:contextcheck // the servers outlive the request that may have asked for them
	defer func() {
		if err != nil {
			stop()
		}
	}()
	project.Servers = map[string]*declaration.Server{}
	for _, options := range Servers() {
		if !wanted(options.Name) {
			continue
		}
		options.Path = serverPath(options.Name)
		address, err := upstreamtest.New(options).Listen(serving, "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("start the demo server %s: %w", options.Name, err)
		}
		project.Servers[options.Name] = &declaration.Server{URL: &address}
	}
	file := &declaration.File{Projects: map[string]*declaration.Project{slug: project}}
	if _, err := d.services.Projects.Apply(ctx, file, projects.ApplyOptions{}); err != nil {
		return err
	}
	d.stop = stop
	return nil
}

// Stop ends the servers.
func (d *Project) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
}

// Read reads the demo's tools before anybody is told to call one.
func (d *Project) Read(ctx context.Context) {
	project, err := d.services.Directory.Project(slug)
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

// Print prints the address of the demo project and, if it has the tool, a line
// that calls it.
func (d *Project) Print(w io.Writer) {
	url := d.services.Config.PublicURL.String() + "/v1/mcp/" + slug + "/request"
	fmt.Fprintf(w, "The demo project is at %s\n", url)
	project, err := d.services.Directory.Project(slug)
	if err != nil {
		return
	}
	if _, err := project.Resolve("clock__current_time"); err != nil || project.Project.AuthMode != models.AuthNone {
		return
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock__current_time","arguments":{"zone":"Europe/Berlin"}}}`
	fmt.Fprintf(w, "Try it:\n\n  curl -s %s -H 'Content-Type: application/json' -d '%s'\n\n", url, call)
}
