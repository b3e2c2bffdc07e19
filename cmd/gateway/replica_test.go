package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// replicaKeys are the secrets keys of every replica in these tests.
const replicaKeys = "test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// replicaToken is the administration token of every replica in these tests.
const replicaToken = "administration-token-of-the-replicas"

// buildGateway builds the release binary and returns its path.
func buildGateway(t *testing.T) string {
	t.Helper()
	return (&stage{root: moduleRoot(t), folder: t.TempDir()}).build(t, "gateway", "./cmd/gateway")
}

// replica is a process of the release binary. It can be restarted with its
// address and database.
type replica struct {
	*process
	program program
	base    string
}

// newReplica returns a replica on the database, not started. Settings are
// additional variables, each NAME=VALUE.
func newReplica(t *testing.T, binary, name, dsn string, settings ...string) *replica {
	t.Helper()
	folder, address := t.TempDir(), freeAddress(t)
	return &replica{base: "http://" + address, program: program{
		name: name, path: binary, dir: folder, args: []string{"serve", "--addr", address},
		env: append(bareEnvironment(folder), append([]string{
			"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_SECRETS_KEYS=" + replicaKeys, "GATEWAY_ADMIN_TOKEN=" + replicaToken,
			"GATEWAY_BUILTIN_CATALOG=false", "GATEWAY_LOG_FORMAT=json", "GATEWAY_LOG_LEVEL=warn",
		}, settings...)...),
	}}
}

// apply applies a declarative file with the command while the replica runs.
func (r *replica) apply(t *testing.T, declaration any) {
	t.Helper()
	b, err := json.Marshal(declaration)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(r.program.dir, "declaration.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r.command(t, "apply", "-f", file)
}

// command runs a command of the gateway on the replica's database.
func (r *replica) command(t *testing.T, args ...string) string {
	t.Helper()
	return mustRun(t, program{name: "gateway " + args[0], path: r.program.path, args: args, dir: r.program.dir, env: r.program.env}, commandLimit)
}

// start starts the replica and waits until it is ready.
func (r *replica) start(t *testing.T) {
	t.Helper()
	r.begin(t)
	r.awaitUse(t)
}

// begin starts the replica without waiting.
func (r *replica) begin(t *testing.T) {
	t.Helper()
	r.process = startProcess(t, r.program)
}

// awaitUse waits until the replica is ready.
func (r *replica) awaitUse(t *testing.T) {
	t.Helper()
	eventually(t, readyLimit, r.program.name+" is ready", r.respondsWith("/readyz", http.StatusOK), r.process)
}

// respondsWith returns nil if the replica responds to a GET of the path with the
// status.
func (r *replica) respondsWith(path string, want int) func(context.Context) error {
	return func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodGet, r.base+path, "", nil)
		if err == nil && status != want {
			err = fmt.Errorf("status %d, want %d: %s", status, want, body)
		}
		return err
	}
}

// sync syncs a project's servers.
func (r *replica) sync(t *testing.T, slug string) {
	t.Helper()
	var servers struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	r.administer(t, http.MethodGet, "/api/projects/"+slug+"/servers", nil, &servers)
	for _, server := range servers.Items {
		r.administer(t, http.MethodPost, "/api/servers/"+server.ID+"/sync", nil, nil)
	}
}

// administer sends a request with the administration token and decodes its
// response into a non-nil value.
func (r *replica) administer(t *testing.T, method, path string, body, answer any) {
	t.Helper()
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	status, _, got, err := send(t.Context(), method, r.base+path, replicaToken, sent)
	if err != nil || status >= 300 {
		t.Fatalf("%s %s: status %d, %v: %s", method, path, status, err, got)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(got, answer); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, got)
	}
}

// mcpRequest returns a POST of a JSON-RPC message to a project.
func mcpRequest(ctx context.Context, base, slug, message string, header map[string]string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/mcp/"+slug+"/request", bytes.NewReader([]byte(message)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	return request, nil
}

// exchange sends a request and returns its whole response.
func exchange(client *http.Client, request *http.Request) (status int, header http.Header, body []byte, err error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(response.Body, 16<<20))
	return response.StatusCode, response.Header, body, err
}

const openingRequest = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// openSession returns the headers of a new session of revision 2025-11-25.
func openSession(ctx context.Context, client *http.Client, base, slug, bearer string) (map[string]string, error) {
	session := map[string]string{"MCP-Protocol-Version": legacy}
	if bearer != "" {
		session["Authorization"] = "Bearer " + bearer
	}
	request, err := mcpRequest(ctx, base, slug, openingRequest, session)
	if err != nil {
		return nil, err
	}
	status, header, body, err := exchange(client, request)
	if err == nil && (status != http.StatusOK || header.Get("Mcp-Session-Id") == "") {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	if err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	session["Mcp-Session-Id"] = header.Get("Mcp-Session-Id")
	return session, nil
}
