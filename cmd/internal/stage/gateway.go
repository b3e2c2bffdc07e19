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
	maxBody      = 16 << 20 // bytes of a response that is read whole
	maxShown     = 4 << 10  // bytes of a log or a response that an error shows
)

// Server is an upstream server in the declarative file.
type Server struct {
	URL string `json:"url"`
}

// Project is a project in the declarative file.
type Project struct {
	AuthMode string            `json:"authMode"`
	Servers  map[string]Server `json:"mcpServers"`
}

// KeyedProject returns a project that requires API keys, with the servers of
// these URLs by alias.
func KeyedProject(urls map[string]string) Project {
	p := Project{AuthMode: "api_key", Servers: map[string]Server{}}
	for alias, url := range urls {
		p.Servers[alias] = Server{URL: url}
	}
	return p
}

// Home is where a gateway keeps its database and its log.
type Home struct {
	binary, folder string
	env            []string
}

// NewHome makes a folder for a gateway with SQLite and otherwise default
// settings, besides those in env.
func NewHome(binary, folder string, env ...string) (*Home, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	return &Home{binary: binary, folder: folder, env: append(BareEnvironment(folder), env...)}, nil
}

// Remove removes the folder, whose gateway has ended, with the database, which
// may be large. What cannot be removed is left to whoever made the folder's
// parent.
func (h *Home) Remove() { _ = os.RemoveAll(h.folder) }

// program returns a command of the gateway.
func (h *Home) program(args ...string) Program {
	return Program{Name: "gateway " + strings.Join(args, " "), Path: h.binary, Dir: h.folder, Env: h.env, Args: args}
}

// Apply declares projects, by their slugs.
func (h *Home) Apply(ctx context.Context, projects map[string]Project) error {
	raw, err := json.Marshal(map[string]any{"projects": projects})
	if err != nil {
		return err
	}
	file := filepath.Join(h.folder, "declared.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return err
	}
	_, err = Must(ctx, h.program("apply", "-f", file), commandLimit)
	return err
}

// Key returns a new API key of a project.
func (h *Home) Key(ctx context.Context, project string) (string, error) {
	key, err := Must(ctx, h.program("keys", "create", "--project", project, "--name", "stage"), commandLimit)
	return strings.TrimSpace(key), err
}

// Import imports a catalog file.
func (h *Home) Import(ctx context.Context, file string) error {
	_, err := Must(ctx, h.program("catalog", "import", "--file", file), commandLimit)
	return err
}

// Gateway is a gateway that serves.
type Gateway struct {
	Address string        // host:port
	Start   time.Duration // from its start until /readyz said that it is ready
	Ready   time.Time     // when that was
	process *Process
	web     *http.Client
}

// Serve starts the gateway and returns when it is ready. Its log goes to a
// file that nobody reads meanwhile. It ends with ctx or with Stop.
func (h *Home) Serve(ctx context.Context) (*Gateway, error) {
	address, err := FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(h.folder, "gateway.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	program := h.program("serve", "--addr", address)
	program.Stderr = log
	began := time.Now()
	process, err := Start(ctx, program)
	if err != nil {
		return nil, err
	}
	g := &Gateway{Address: address, process: process, web: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	// Nothing answers before the gateway can serve, and what connects early
	// waits for it.
	err = Eventually(ctx, readyLimit, "the gateway is ready", func(ctx context.Context) error {
		_, err := g.Get(ctx, "/readyz")
		return err
	}, process)
	if err != nil {
		g.Stop()
		return nil, fmt.Errorf("%w; its log ends with:\n%s", err, h.logEnd())
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

// PID returns the number of the gateway's process.
func (g *Gateway) PID() int { return g.process.PID() }

// Stop ends the gateway and returns when it has ended.
func (g *Gateway) Stop() { g.process.Stop() }

// ProjectPath returns the path of a project's MCP endpoint.
func ProjectPath(project string) string { return "/v1/mcp/" + project + "/request" }

// Endpoint returns the URL of a project's MCP endpoint.
func (g *Gateway) Endpoint(project string) string {
	return "http://" + g.Address + ProjectPath(project)
}

// Bridge returns the URL of a project's streaming bridge.
func (g *Gateway) Bridge(project string) string {
	return "http://" + g.Address + "/v1/mcp/" + project + "/sse"
}

// AwaitTools waits until tools/list of a project holds a tool of each alias.
func (g *Gateway) AwaitTools(ctx context.Context, project, key string, aliases ...string) error {
	return Eventually(ctx, syncLimit, "the tools of project "+project, func(ctx context.Context) error {
		names, err := g.tools(ctx, project, key)
		if err != nil {
			return err
		}
		for _, alias := range aliases {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, alias+"__") }) {
				return fmt.Errorf("none of %s among %q", alias, names)
			}
		}
		return nil
	}, g.process)
}

// tools returns the names of a project's tools.
func (g *Gateway) tools(ctx context.Context, project, key string) ([]string, error) {
	raw, err := g.do(ctx, http.MethodPost, ProjectPath(project), key, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("tools/list answered %s: %w", raw, err)
	}
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

// Get returns what the gateway answers at a path. A status other than 200 is
// an error.
func (g *Gateway) Get(ctx context.Context, path string) ([]byte, error) {
	return g.do(ctx, http.MethodGet, path, "", nil)
}

// do makes one request on a connection of its own. A status other than 200 is
// an error.
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
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %s", path, response.StatusCode, answer[:min(len(answer), maxShown)])
	}
	return answer, err
}
