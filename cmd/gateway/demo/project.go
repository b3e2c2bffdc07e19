// Package demo implements the gateway's demo: a project with two small MCP servers,
// Clock and TextTools, that run in the gateway's process.
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

// Project is a project with two MCP servers that run in this process. It is only
// for gateways on loopback, because it requires no authentication.
type Project struct {
	services *services.Services
	log      *slog.Logger

	mu   sync.Mutex
	stop func() // stops the servers; nil if they are not running
}

// New returns the demo of a gateway.
func New(s *services.Services, log *slog.Logger) *Project { return &Project{services: s, log: log} }

// serverPath returns the path of a demo server. A later process recognizes the
// demo's servers by it and starts them again.
func serverPath(name string) string { return "/demo/" + name }

// Offered reports whether the demo project can be created and doesn't exist.
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

// Load creates the demo project, starts its servers and syncs them. It returns
// the project's slug, or CONFLICT if the demo is not available.
func (d *Project) Load(ctx context.Context) (string, error) {
	offered, err := d.Offered(ctx)
	if err != nil {
		return "", err
	}
	if !offered {
		return "", fault.Conflict("The demo isn't available: project %q exists already, or this gateway is reachable from other machines.", slug)
	}
	if err := d.Start(ctx); err != nil {
		return "", err
	}
	d.Read(ctx)
	return slug, nil
}

// Start starts the servers and updates their addresses in the demo project.
// The project is created once; later starts preserve an administrator's
// changes. If another process with the same database runs the servers, Start
// does nothing. It returns CONFLICT if the project has no demo server.
func (d *Project) Start(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		return nil
	}
	own, err := d.demoServers(ctx)
	if fault.Is(err, fault.CodeNotFound) {
		name, open, on := "Demo", models.AuthNone, true
		text := "Two small MCP servers for trying out the gateway."
		return d.serve(ctx, &declaration.Project{Name: &name, Description: &text, AuthMode: &open, CodeModeEnabled: &on}, func(string) bool { return true })
	}
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return fault.Conflict("The project %q has no demo servers. Delete it to load the demo.", slug)
	}
	if slices.ContainsFunc(own, func(row models.Server) bool { return d.responds(ctx, row.URL) }) {
		d.log.Info("demo servers are running in another process")
		return nil
	}
	return d.serve(ctx, &declaration.Project{}, func(name string) bool {
		return slices.ContainsFunc(own, func(row models.Server) bool { return row.Alias == name })
	})
}

// Resume starts the servers if the project has one from an earlier process.
func (d *Project) Resume(ctx context.Context) error {
	if !d.services.Config.LoopbackListener {
		return nil
	}
	own, err := d.demoServers(ctx)
	if fault.Is(err, fault.CodeNotFound) || err == nil && len(own) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return d.Start(ctx)
}

// demoServers returns the demo servers of the demo project. It returns NOT_FOUND if
// there is no project.
func (d *Project) demoServers(ctx context.Context) ([]models.Server, error) {
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

// responds reports whether an MCP server responds at the address of a demo
// server.
func (d *Project) responds(ctx context.Context, address string) bool {
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
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // a truncated body fails the check below
	return strings.Contains(string(body), `"jsonrpc"`)
}

// serve starts the selected servers and applies the project with them.
func (d *Project) serve(ctx context.Context, project *declaration.Project, selected func(name string) bool) (err error) {
	serving, stop := context.WithCancel(context.Background()) //nolint:contextcheck // the servers outlive the request that started them
	defer func() {
		if err != nil {
			stop()
		}
	}()
	project.Servers = map[string]*declaration.Server{}
	for _, options := range Servers() {
		if !selected(options.Name) {
			continue
		}
		options.Path = serverPath(options.Name)
		address, err := upstreamtest.New(options).Listen(serving, "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("start demo server %s: %w", options.Name, err)
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

// Stop stops the servers.
func (d *Project) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
}

// Read syncs the demo's servers, so that their tools are available.
func (d *Project) Read(ctx context.Context) {
	project, err := d.services.Directory.Project(slug)
	if err != nil {
		d.log.Warn("demo project not found", "error", err)
		return
	}
	for _, server := range project.Servers {
		if _, err := d.services.Syncer.Sync(ctx, server.Config.ID); err != nil {
			d.log.Warn("demo server sync failed", "server", server.Config.Alias, "error", err)
		}
	}
}

// Print prints the URL of the demo project and, if the tool exists, a command
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
