package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// visitLimit is longer than the client scripts' own timeout, so that they can
	// report the reason.
	visitLimit = 70 * time.Second
	legacy     = "2025-11-25"
	modern     = "2026-07-28"
)

// toolCall is a call of a tool by a client.
type toolCall struct {
	tool      string
	arguments map[string]any
}

// visit is a client's view of a server, in the output format of the scripts in
// playwright/clients.
type visit struct {
	ProtocolVersion string                `json:"protocolVersion"`
	Tools           []string              `json:"tools"`
	Results         map[string]toolResult `json:"results"`
}

type toolResult struct {
	IsError bool `json:"isError"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
		Data string `json:"data"`
	} `json:"content"`
}

// realClient is a third-party client.
type realClient struct {
	name     string
	protocol string // negotiated with a server of all revisions
	visit    func(t *testing.T, url, bearer string, calls ...toolCall) (visit, error)
}

// realClients returns the clients that the gateway is tested with.
func realClients(root string) []realClient {
	return []realClient{
		{"sdk1", legacy, script(root, "sdk1.mjs")},
		{"client2-legacy", legacy, script(root, "client2-legacy.mjs")},
		{"client2-auto", modern, script(root, "client2-auto.mjs")},
		{"mcp-remote", legacy, script(root, "mcp-remote.mjs")},
		{"inspector", modern, script(root, "inspector.mjs")},
		{"go-sdk", modern, goSDK("")},
		{"go-sdk of 2025-11-25", legacy, goSDK(legacy)},
	}
}

// needNodePackages fails the test if node or the npm packages are missing.
func needNodePackages(t *testing.T, root string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatalf("Node.js not found in PATH: %v", err)
	}
	for _, name := range []string{"@modelcontextprotocol/sdk", "@modelcontextprotocol/client", "@modelcontextprotocol/inspector", "@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory", "mcp-remote"} {
		if _, err := os.Stat(filepath.Join(root, "node_modules", name, "package.json")); err != nil {
			t.Fatalf("missing npm package, run `make deps`: %v", err)
		}
	}
}

// script runs a script of playwright/clients and returns its visit.
func script(root, name string) func(*testing.T, string, string, ...toolCall) (visit, error) {
	return func(t *testing.T, url, bearer string, calls ...toolCall) (visit, error) {
		t.Helper()
		args := []string{filepath.Join(root, "playwright", "clients", name), url}
		if bearer != "" {
			args = append(args, bearer)
		}
		for _, call := range calls {
			arguments, err := json.Marshal(call.arguments)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, "call", call.tool, string(arguments))
		}
		done := run(t, program{name: name, path: "node", args: args, dir: root, env: bareEnvironment(t.TempDir())}, visitLimit)
		if done.status != 0 {
			return visit{}, fmt.Errorf("%s: exit status %d: %s", name, done.status, done.stderr)
		}
		var saw visit
		if err := json.Unmarshal([]byte(done.stdout), &saw); err != nil {
			return visit{}, fmt.Errorf("%s printed %q: %w", name, done.stdout, err)
		}
		return saw, nil
	}
}

// goSDK returns the visit of the official Go client. If version is empty, it
// negotiates.
func goSDK(version string) func(*testing.T, string, string, ...toolCall) (visit, error) {
	return func(t *testing.T, url, bearer string, calls ...toolCall) (saw visit, err error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), visitLimit)
		defer cancel()
		session, err := connectGoSDK(ctx, t, url, bearer, version)
		if err != nil {
			return visit{}, err
		}
		defer func() { err = errors.Join(err, session.Close()) }()
		saw.ProtocolVersion = session.InitializeResult().ProtocolVersion
		for tool, err := range session.Tools(ctx, nil) {
			if err != nil {
				return visit{}, fmt.Errorf("tools/list: %w", err)
			}
			saw.Tools = append(saw.Tools, tool.Name)
		}
		saw.Results = map[string]toolResult{}
		for _, call := range calls {
			answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.tool, Arguments: call.arguments})
			if err != nil {
				return visit{}, fmt.Errorf("tools/call %s: %w", call.tool, err)
			}
			raw, err := json.Marshal(answer)
			if err != nil {
				return visit{}, err
			}
			var result toolResult
			if err := json.Unmarshal(raw, &result); err != nil {
				return visit{}, err
			}
			saw.Results[call.tool] = result
		}
		return saw, nil
	}
}

// connectGoSDK opens a session of the official Go client. The caller must close
// it.
func connectGoSDK(ctx context.Context, t *testing.T, url, bearer, version string) (*mcp.ClientSession, error) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1.8.0"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: bearerTransport{bearer: bearer, next: transport}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

// bearerTransport sends a bearer token with every request.
type bearerTransport struct {
	bearer string
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.bearer != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.bearer)
	}
	return b.next.RoundTrip(r)
}
