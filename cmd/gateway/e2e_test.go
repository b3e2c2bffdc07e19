package main_test

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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	buildLimit    = 5 * time.Minute
	commandLimit  = 30 * time.Second
	readyLimit    = 30 * time.Second
	syncLimit     = 30 * time.Second
	shutdownLimit = 20 * time.Second
	// revokeLimit is longer than the guaranteed second, because other packages are
	// built and tested at the same time.
	revokeLimit = 5 * time.Second

	everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
)

// stage is a gateway with real upstream servers: the npm package
// server-everything (sessions), and the Go SDK's server with sessions and
// without (2026-07-28).
type stage struct {
	root    string
	binary  string
	folder  string
	env     []string
	base    string
	gateway *process
	direct  map[string]string // alias -> URL of the upstream
}

// upstreamCalls returns a call of a tool of each upstream, by exported name,
// with the text of its result.
func upstreamCalls() (calls []toolCall, answers map[string]string) {
	calls = []toolCall{
		{"every__echo", map[string]any{"message": "over the gateway"}},
		{"stateful__test_simple_text", map[string]any{}},
		{"stateless__test_simple_text", map[string]any{}},
	}
	return calls, map[string]string{
		"every__echo":                 "Echo: over the gateway",
		"stateful__test_simple_text":  "This is a simple text response for testing.",
		"stateless__test_simple_text": "This is a simple text response for testing.",
	}
}

// setStage builds and starts the programs and waits until the gateway is ready
// and has synced every upstream.
func setStage(t *testing.T) *stage {
	t.Helper()
	root := moduleRoot(t)
	needNodePackages(t, root)
	s := &stage{root: root, folder: t.TempDir(), direct: map[string]string{}}

	node := startProcess(t, program{
		name: "server-everything", path: "node", dir: root, env: bareEnvironment(s.folder),
		args: []string{filepath.Join(root, "playwright", "support", "everything.mjs")},
	})
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	fixture := s.build(t, "everything-server", everythingServer)
	for alias, stateless := range map[string]string{"stateful": "false", "stateless": "true"} {
		address := freeAddress(t)
		p := startProcess(t, program{
			name: alias + " everything-server", path: fixture, dir: s.folder, env: bareEnvironment(s.folder),
			args: []string{"-http=" + address, "-stateless=" + stateless},
		})
		eventually(t, readyLimit, alias+" upstream listens", accepts(address), p)
		s.direct[alias] = "http://" + address
	}
	s.direct["every"] = node.awaitReady(t, readyLimit)
	s.start(t)
	return s
}

// build builds a release binary and returns its path.
func (s *stage) build(t *testing.T, name, pkg string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests start no programs")
	}
	binary := filepath.Join(s.folder, name)
	mustRun(t, program{
		name: "go build " + pkg, path: "go", args: []string{"build", "-trimpath", "-o", binary, pkg},
		dir: s.root, env: append(os.Environ(), "CGO_ENABLED=0"),
	}, buildLimit)
	return binary
}

// start writes the declarative file, starts the gateway with it and waits for
// the tools.
func (s *stage) start(t *testing.T) {
	t.Helper()
	servers := map[string]any{}
	for alias, url := range s.direct {
		servers[alias] = map[string]any{"url": url}
	}
	declared, err := json.Marshal(map[string]any{"projects": map[string]any{
		"open":  map[string]any{"name": "Open", "authMode": "none", "mcpServers": servers},
		"keyed": map[string]any{"name": "Keyed", "authMode": "api_key", "mcpServers": servers},
		"code":  map[string]any{"name": "Code", "authMode": "none", "codeMode": map[string]any{"enabled": true, "timeout": 30_000}, "mcpServers": servers},
	}})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(s.folder, "gateway.json")
	if err := os.WriteFile(config, declared, 0o600); err != nil {
		t.Fatal(err)
	}
	sealing := make([]byte, 32)
	rand.Read(sealing)
	s.env = append(bareEnvironment(s.folder),
		"GATEWAY_DATABASE_URL=sqlite:"+filepath.Join(s.folder, "gateway.db"),
		"GATEWAY_SECRETS_KEYS=e2e:"+base64.StdEncoding.EncodeToString(sealing),
		"GATEWAY_LOG_FORMAT=json",
		// Nothing can listen here: the flag below must override it.
		"GATEWAY_ADDR=127.0.0.1:1",
	)
	address := freeAddress(t)
	s.base = "http://" + address
	s.gateway = startProcess(t, program{
		name: "gateway", path: s.binary, dir: s.folder, env: s.env,
		args: []string{"serve", "--config", config, "--addr", address},
	})
	eventually(t, readyLimit, "/readyz answers 200", func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodGet, s.base+"/readyz", "", nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	}, s.gateway)
	eventually(t, syncLimit, "every upstream is synced", func(ctx context.Context) error {
		for _, project := range []string{"open", "code"} {
			names, err := s.plainList(ctx, project)
			if err != nil {
				return err
			}
			for alias := range s.direct {
				if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, alias+"__") }) {
					return fmt.Errorf("no tool of %s in %q of %s", alias, names, project)
				}
			}
		}
		return nil
	}, s.gateway)
}

// endpoint returns the MCP address of a project.
func (s *stage) endpoint(project string) string {
	return s.base + "/v1/mcp/" + project + "/request"
}

// command runs a command of the gateway while the server runs and returns its
// standard output.
func (s *stage) command(t *testing.T, args ...string) string {
	t.Helper()
	return mustRun(t, program{name: "gateway " + strings.Join(args, " "), path: s.binary, args: args, dir: s.folder, env: s.env}, commandLimit)
}

// send sends one HTTP request without a client library.
func send(ctx context.Context, method, url, bearer string, body []byte) (status int, header http.Header, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	request.Close = true
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(response.Body, 16<<20))
	return response.StatusCode, response.Header, answer, err
}

const listRequest = `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`

// plainList returns the tools that a client without an SDK receives, in order.
func (s *stage) plainList(ctx context.Context, project string) ([]string, error) {
	status, _, body, err := send(ctx, http.MethodPost, s.endpoint(project), "", []byte(listRequest))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("tools/list: status %d: %s", status, body)
	}
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func TestRealClientsAndUpstreams(t *testing.T) {
	s := setStage(t)
	key := strings.TrimSuffix(s.command(t, "keys", "create", "--project", "keyed", "--name", "e2e"), "\n")
	if !regexp.MustCompile(`^gwk_[0-9A-Za-z]{36}$`).MatchString(key) {
		t.Fatalf("keys create printed %q, want only a key", key)
	}

	t.Run("tools/list", func(t *testing.T) { s.checkList(t) })
	t.Run("tools that depend on capabilities", func(t *testing.T) { s.checkConditionalTools(t) })
	for _, client := range realClients(s.root) {
		t.Run(client.name+" in an open project", func(t *testing.T) { s.checkClient(t, client, "open", "") })
		t.Run(client.name+" in a project with keys", func(t *testing.T) { s.checkClient(t, client, "keyed", key) })
	}
	for _, version := range []string{modern, legacy} {
		t.Run("Code Mode over "+version, func(t *testing.T) { s.checkCodeMode(t, version) })
	}
	for _, client := range realClients(s.root) {
		if client.name == "sdk1" || client.name == "client2-auto" {
			t.Run("image from code with "+client.name, func(t *testing.T) { s.checkCodeImage(t, client) })
		}
	}
	t.Run("Code Mode over the SSE bridge", func(t *testing.T) { s.checkCodeOverBridge(t) })
	t.Run("missing or unknown key", func(t *testing.T) {
		for _, bearer := range []string{"", "gwk_" + strings.Repeat("0", 36)} {
			status, header, body, err := send(t.Context(), http.MethodPost, s.endpoint("keyed"), bearer, []byte(listRequest))
			if err != nil || status != http.StatusUnauthorized || header.Get("WWW-Authenticate") == "" {
				t.Errorf("bearer %q: status %d, WWW-Authenticate %q, %v: %s", bearer, status, header.Get("WWW-Authenticate"), err, body)
			}
		}
	})
	t.Run("key revoked by another process", func(t *testing.T) { s.checkRevocation(t, key) })
	t.Run("SIGTERM with open streams", func(t *testing.T) { s.checkShutdown(t) })
}

// checkList compares the gateway's list with that of each upstream.
func (s *stage) checkList(t *testing.T) {
	all, err := s.plainList(t.Context(), "open")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, alias := range []string{"every", "stateful", "stateless"} {
		direct, err := script(s.root, "sdk1.mjs")(t, s.direct[alias], "")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range direct.Tools {
			if name == "simulate-research-query" {
				// This tool requires task support, which the gateway doesn't have.
				continue
			}
			at := slices.Index(all, alias+"__"+name)
			switch {
			case at < 0:
				t.Errorf("%s__%s not in %q", alias, name, all)
			case at < last:
				t.Errorf("%s__%s is at %d, before a tool that must precede it (at %d)", alias, name, at, last)
			default:
				last = at
			}
		}
	}
	for i, name := range all {
		if slices.Contains(all[:i], name) {
			t.Errorf("tool %s listed twice", name)
		}
	}
}

// checkClient lists the tools and calls one of each upstream with a client.
func (s *stage) checkClient(t *testing.T, client realClient, project, bearer string) {
	calls, answers := upstreamCalls()
	saw, err := client.visit(t, s.endpoint(project), bearer, calls...)
	if err != nil {
		t.Fatal(err)
	}
	if saw.ProtocolVersion != client.protocol {
		t.Errorf("protocol version %q, want %q", saw.ProtocolVersion, client.protocol)
	}
	for name, want := range answers {
		if !slices.Contains(saw.Tools, name) {
			t.Errorf("%s not in %q", name, saw.Tools)
		}
		got := saw.Results[name]
		if got.IsError || len(got.Content) != 1 || got.Content[0].Type != "text" || got.Content[0].Text != want {
			t.Errorf("%s returned %+v, want the text %q", name, got, want)
		}
	}
}

// checkRevocation revokes the key from another process. It makes few failed
// attempts because the gateway limits them per minute.
func (s *stage) checkRevocation(t *testing.T, key string) {
	var listed struct {
		Items []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"items"`
	}
	printed := s.command(t, "keys", "list", "--project", "keyed", "--json")
	if err := json.Unmarshal([]byte(printed), &listed); err != nil || len(listed.Items) != 1 || listed.Items[0].Name != "e2e" {
		t.Fatalf("keys list printed %s, want one key named e2e under items: %v", printed, err)
	}
	if strings.Contains(printed, key) {
		t.Error("keys list shows the key itself")
	}
	s.command(t, "keys", "revoke", "--project", "keyed", "--id", listed.Items[0].ID)
	eventually(t, revokeLimit, "rejection of the revoked key", func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodPost, s.endpoint("keyed"), key, []byte(listRequest))
		if err == nil && status != http.StatusUnauthorized {
			err = fmt.Errorf("status %d: %.200s", status, body)
		}
		return err
	}, s.gateway)
	for _, client := range realClients(s.root)[:2] {
		_, err := client.visit(t, s.endpoint("keyed"), key)
		if err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("%s with a revoked key: %v, want an error with 401", client.name, err)
		}
	}
}

// checkShutdown stops the gateway while a client has a session and its stream.
func (s *stage) checkShutdown(t *testing.T) {
	session, err := connectGoSDK(t.Context(), t, s.endpoint("open"), "", legacy)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.gateway.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !s.gateway.waitEnd(shutdownLimit) {
		t.Fatalf("gateway still running %v after SIGTERM", shutdownLimit)
	}
	if status := s.gateway.cmd.ProcessState.ExitCode(); status != 0 {
		t.Errorf("exit status of the gateway = %d (%v), want 0", status, s.gateway.err)
	}
	// The server is gone, so ending the session fails.
	_ = session.Close()
}
