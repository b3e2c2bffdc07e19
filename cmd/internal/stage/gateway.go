package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	commandLimit = 5 * time.Minute
	syncLimit    = 30 * time.Second
	maxBody      = 16 << 20 // maximum bytes of a response
	maxShown     = 4 << 10  // maximum bytes of a log or a response in an error
)

// Server is an upstream server in the declarative file.
type Server struct {
	URL             string   `json:"url,omitempty"`
	Command         string   `json:"command,omitempty"` // only with Declare
	Arguments       []string `json:"args,omitempty"`
	SessionMode     string   `json:"sessionMode,omitempty"`
	ProtocolVersion string   `json:"protocolVersion,omitempty"`
	Disabled        bool     `json:"-"`
}

// MarshalJSON encodes the server with the key enabled.
func (s Server) MarshalJSON() ([]byte, error) {
	type plain Server
	return json.Marshal(struct {
		plain
		Enabled bool `json:"enabled"`
	}{plain(s), !s.Disabled})
}

// Project is a project in the declarative file.
type Project struct {
	AuthMode string            `json:"authMode"`
	Servers  map[string]Server `json:"mcpServers"`
}

// KeyedProject returns a project that requires API keys. urls maps the aliases of
// its servers to their URLs.
func KeyedProject(urls map[string]string) Project {
	p := Project{AuthMode: "api_key", Servers: map[string]Server{}}
	for alias, url := range urls {
		p.Servers[alias] = Server{URL: url}
	}
	return p
}

// Home is a gateway's data folder with its database and log.
type Home struct {
	binary, folder string
	env            []string
	declared       string // file that the gateway is served with; may be empty
}

// NewHome creates a data folder for a gateway with SQLite. env holds settings that
// differ from the defaults.
func NewHome(binary, folder string, env ...string) (*Home, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	return &Home{binary: binary, folder: folder, env: append(BareEnvironment(folder), env...)}, nil
}

// Remove deletes the folder with its database, which can be large. The gateway
// must have exited. Remove ignores errors: the caller owns the parent folder.
func (h *Home) Remove() { _ = os.RemoveAll(h.folder) }

// program returns a gateway command.
func (h *Home) program(args ...string) Program {
	return Program{Name: "gateway " + strings.Join(args, " "), Path: h.binary, Dir: h.folder, Env: h.env, Args: args}
}

// Apply applies a declarative file with the projects, by slug.
func (h *Home) Apply(ctx context.Context, projects map[string]Project) error {
	file, err := h.write("declared.json", projects)
	if err != nil {
		return err
	}
	_, err = Must(ctx, h.program("apply", "-f", file), commandLimit)
	return err
}

// Declare writes a declarative file with the projects, by slug, that the gateway
// is served with. Its servers may be programs.
func (h *Home) Declare(projects map[string]Project) (err error) {
	h.declared, err = h.write("served.json", projects)
	return err
}

// write writes a declarative file and returns its path.
func (h *Home) write(name string, projects map[string]Project) (string, error) {
	raw, err := json.Marshal(map[string]any{"projects": projects})
	if err != nil {
		return "", err
	}
	file := filepath.Join(h.folder, name)
	return file, os.WriteFile(file, raw, 0o600)
}

// Key creates an API key for a project.
func (h *Home) Key(ctx context.Context, project string) (string, error) {
	return h.NamedKey(ctx, project, "stage")
}

// NamedKey creates an API key with a name, which is unique in the project.
func (h *Home) NamedKey(ctx context.Context, project, name string) (string, error) {
	key, err := Must(ctx, h.program("keys", "create", "--project", project, "--name", name), commandLimit)
	return strings.TrimSpace(key), err
}

// Administrator creates an administrator with a password.
func (h *Home) Administrator(ctx context.Context, email, password string) error {
	program := h.program("admin", "create", "--email", email, "--password-stdin")
	program.Stdin = strings.NewReader(password + "\n")
	_, err := Must(ctx, program, commandLimit)
	return err
}

// Import imports a catalog file.
func (h *Home) Import(ctx context.Context, file string) error {
	_, err := Must(ctx, h.program("catalog", "import", "--file", file), commandLimit)
	return err
}

// Gateway is a running gateway.
type Gateway struct {
	Address string        // host:port
	Start   time.Duration // from process start until /readyz succeeded
	Ready   time.Time     // time of that success
	process *Process
	web     *http.Client
}

// Serve starts the gateway and waits until it is ready. The gateway logs to a
// file, so that no reader uses CPU time. It runs until ctx is done or Stop is
// called.
func (h *Home) Serve(ctx context.Context) (*Gateway, error) {
	address, err := FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return h.ServeAt(ctx, address)
}

// ServeAt starts the gateway on an address, such as that of a stopped one.
func (h *Home) ServeAt(ctx context.Context, address string) (*Gateway, error) {
	log, err := os.OpenFile(filepath.Join(h.folder, "gateway.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	args := []string{"serve", "--addr", address}
	if h.declared != "" {
		args = append(args, "--config", h.declared)
	}
	program := h.program(args...)
	program.Stderr = log
	began := time.Now()
	process, err := Start(ctx, program)
	if err != nil {
		return nil, err
	}
	g := &Gateway{Address: address, process: process, web: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	// The gateway listens before it is ready. Early connections wait.
	err = Eventually(ctx, readyLimit, "wait for the gateway", func(ctx context.Context) error {
		_, err := g.Get(ctx, "/readyz")
		return err
	}, process)
	if err != nil {
		g.Stop()
		return nil, fmt.Errorf("%w; end of its log:\n%s", err, h.logEnd())
	}
	g.Ready = time.Now()
	g.Start = g.Ready.Sub(began)
	return g, nil
}

func (h *Home) logEnd() string {
	raw, err := os.ReadFile(filepath.Join(h.folder, "gateway.log"))
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-maxShown):])
}

// PID returns the gateway's process ID.
func (g *Gateway) PID() int { return g.process.PID() }

// Stop stops the gateway and waits for its exit.
func (g *Gateway) Stop() { g.process.Stop() }

// ProjectPath returns the path of a project's MCP endpoint.
func ProjectPath(project string) string { return "/v1/mcp/" + project + "/request" }

// Endpoint returns the URL of a project's MCP endpoint.
func (g *Gateway) Endpoint(project string) string {
	return "http://" + g.Address + ProjectPath(project)
}

// Bridge returns the URL of a project's SSE bridge.
func (g *Gateway) Bridge(project string) string {
	return "http://" + g.Address + "/v1/mcp/" + project + "/sse"
}

// AwaitTools waits until a project lists a tool of each alias.
func (g *Gateway) AwaitTools(ctx context.Context, project, key string, aliases ...string) error {
	return Eventually(ctx, syncLimit, "wait for the tools of project "+project, func(ctx context.Context) error {
		names, err := g.tools(ctx, project, key)
		if err != nil {
			return err
		}
		for _, alias := range aliases {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, alias+"__") }) {
				return fmt.Errorf("no tool of %s in %q", alias, names)
			}
		}
		return nil
	}, g.process)
}

// tools returns the names of the project's tools.
func (g *Gateway) tools(ctx context.Context, project, key string) ([]string, error) {
	raw, err := g.do(ctx, http.MethodPost, ProjectPath(project), key, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		return nil, err
	}
	var response struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(raw, &response); err != nil {
		return nil, fmt.Errorf("parse response to tools/list %s: %w", raw, err)
	}
	var names []string
	for _, tool := range response.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

// Get returns the response body of a GET request. A status other than 200 is an
// error.
func (g *Gateway) Get(ctx context.Context, path string) ([]byte, error) {
	return g.do(ctx, http.MethodGet, path, "", nil)
}

// do sends one request on its own connection and returns the response body. A
// status other than 200 is an error.
func (g *Gateway) do(ctx context.Context, method, path, key string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+g.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := g.web.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: HTTP %d: %s", path, response.StatusCode, content[:min(len(content), maxShown)])
	}
	return content, err
}
