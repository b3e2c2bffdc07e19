package stage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
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
	commandLimit = 30 * time.Second
	syncLimit    = 30 * time.Second
	maxBody      = 16 << 20 // bytes of an answer of the gateway
)

// Server is an upstream server in the declarative file.
type Server struct {
	URL       string `json:"url"`
	Transport string `json:"transport,omitempty"`
}

// Project is a project in the declarative file.
type Project struct {
	AuthMode string            `json:"authMode"`
	Servers  map[string]Server `json:"mcpServers"`
}

// Gateway is a gateway that serves.
type Gateway struct {
	url     string
	binary  string
	folder  string
	env     []string
	process *Process
}

// StartGateway starts the binary with a database of its own in folder and the
// projects, and returns when it is ready to serve. It ends with ctx or with
// Stop.
func StartGateway(ctx context.Context, binary, folder string, projects map[string]Project) (*Gateway, error) {
	declared, err := json.Marshal(map[string]any{"projects": projects})
	if err != nil {
		return nil, err
	}
	config := filepath.Join(folder, "gateway.json")
	if err := os.WriteFile(config, declared, 0o600); err != nil {
		return nil, err
	}
	sealing := make([]byte, 32)
	rand.Read(sealing)
	g := &Gateway{binary: binary, folder: folder, env: append(BareEnvironment(folder),
		"GATEWAY_DATABASE_URL=sqlite:"+filepath.Join(folder, "gateway.db"),
		"GATEWAY_SECRETS_KEYS=run:"+base64.StdEncoding.EncodeToString(sealing),
		"GATEWAY_LOG_FORMAT=json",
	)}
	g.process, err = Start(ctx, Program{
		Name: "gateway", Path: binary, Dir: folder, Env: g.env,
		Args: []string{"serve", "--config", config, "--addr", "127.0.0.1:0"}, Ready: servingURL,
	})
	if err != nil {
		return nil, err
	}
	if g.url, err = g.process.Await(ctx, readyLimit); err == nil {
		err = Eventually(ctx, readyLimit, "the gateway is ready", g.ready, g.process)
	}
	if err != nil {
		g.Stop()
		return nil, err
	}
	return g, nil
}

// servingURL finds the log line with the address that was taken.
func servingURL(line string) (string, bool) {
	var entry struct{ Msg, URL string }
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "serving" {
		return "", false
	}
	return entry.URL, entry.URL != ""
}

// Stop ends the gateway and returns when it has.
func (g *Gateway) Stop() { g.process.Stop() }

// Output returns the end of the gateway's log.
func (g *Gateway) Output() string { return g.process.Output() }

// Endpoint returns the MCP address of a project.
func (g *Gateway) Endpoint(project string) string { return g.url + "/v1/mcp/" + project + "/request" }

// Bridge returns the address of a project's streaming bridge.
func (g *Gateway) Bridge(project string) string { return g.url + "/v1/mcp/" + project + "/sse" }

// CreateKey returns a new API key of a project.
func (g *Gateway) CreateKey(ctx context.Context, project string) (string, error) {
	key, err := Must(ctx, Program{
		Name: "gateway keys create", Path: g.binary, Dir: g.folder, Env: g.env,
		Args: []string{"keys", "create", "--project", project, "--name", "conformance"},
	}, commandLimit)
	return strings.TrimSpace(key), err
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

func (g *Gateway) ready(ctx context.Context) error {
	_, err := fetch(ctx, http.MethodGet, g.url+"/readyz", "", nil)
	return err
}

// tools returns the names of a project's tools.
func (g *Gateway) tools(ctx context.Context, project, key string) ([]string, error) {
	raw, err := fetch(ctx, http.MethodPost, g.Endpoint(project), key, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
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

// fetch makes one HTTP request on a connection of its own. A status other than
// 200 is an error.
func fetch(ctx context.Context, method, url, key string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Close = true
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %s", url, response.StatusCode, answer)
	}
	return answer, err
}
