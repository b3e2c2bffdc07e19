package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/services/upstream/upstreamtest"
)

// rpc sends a session client's JSON-RPC request to the project with keys.
func (s *stage) rpc(t *testing.T, method, key, session, body string) (status int, header http.Header, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.endpoint("keyed"), bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		request.Header.Set("Mcp-Session-Id", session)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(b)
}

// kill kills the gateway.
func (s *stage) kill(t *testing.T) {
	t.Helper()
	if err := s.gateway.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.gateway.ended
}

// startAgain restarts the gateway at the same address.
func (s *stage) startAgain(t *testing.T) {
	t.Helper()
	s.gateway = startProcess(t, program{
		name: "gateway", path: s.binary, dir: s.folder, env: s.env,
		args: []string{"serve", "--config", filepath.Join(s.folder, "gateway.json"), "--addr", strings.TrimPrefix(s.base, "http://")},
	})
	eventually(t, readyLimit, "/readyz answers 200", func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodGet, s.base+"/readyz", "", nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	}, s.gateway)
}

const (
	initializeRequest = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	echoRequest       = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"still here"}}}`
)

// TestKilledGatewayRestarts kills the binary. After a restart, the configuration,
// keys, sessions and tools are available, including the tools of an upstream that
// hangs.
func TestKilledGatewayRestarts(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(3)})
	s := &stage{root: moduleRoot(t), folder: t.TempDir(), direct: map[string]string{"up": up.Start(t)}}
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	s.start(t)
	s.kill(t)
	key := strings.TrimSpace(s.command(t, "keys", "create", "--project", "keyed"))
	s.startAgain(t)
	var sessions []string
	for range 2 {
		status, header, body := s.rpc(t, http.MethodPost, key, "", initializeRequest)
		if header.Get("Mcp-Session-Id") == "" {
			t.Fatalf("initialize: status %d: %s", status, body)
		}
		sessions = append(sessions, header.Get("Mcp-Session-Id"))
	}
	if status, _, body := s.rpc(t, http.MethodPost, key, sessions[0], echoRequest); !strings.Contains(body, "still here") {
		t.Fatalf("call: status %d: %s", status, body)
	}
	if status, _, body := s.rpc(t, http.MethodDelete, key, sessions[1], ""); status/100 != 2 {
		t.Fatalf("DELETE of a session: status %d: %s", status, body)
	}
	declared := s.command(t, "export")

	s.kill(t)
	up.SetFault(upstreamtest.Fault{Kind: upstreamtest.Hang})
	s.startAgain(t)
	if status, _, body := s.rpc(t, http.MethodPost, key, sessions[0], listRequest); status != http.StatusOK || !strings.Contains(body, `"up__echo"`) {
		t.Errorf("tools/list while the upstream hangs: status %d: %s", status, body)
	}
	up.SetFault()
	if status, _, body := s.rpc(t, http.MethodPost, key, sessions[0], echoRequest); status != http.StatusOK || !strings.Contains(body, "still here") {
		t.Errorf("call in a session created before the kill: status %d: %s", status, body)
	}
	if status, _, body := s.rpc(t, http.MethodPost, key, sessions[1], echoRequest); status != http.StatusNotFound {
		t.Errorf("call in a deleted session: status %d: %s", status, body)
	}
	if again := s.command(t, "export"); again != declared {
		t.Errorf("configuration after restart:\n%s\nwant\n%s", again, declared)
	}
	s.command(t, "audit", "verify")
}
