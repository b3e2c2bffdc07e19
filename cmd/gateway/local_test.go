package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpgateway/services/upstream/upstreamtest"
)

// serveLocal starts the gateway with a client's file, which is written to the
// stage's folder, and waits until it is ready.
func (s *stage) serveLocal(t *testing.T, servers map[string]any, env ...string) {
	t.Helper()
	s.prepareLocal(t, servers, env...)
	s.runLocal(t)
}

// prepareLocal writes the file of runLocal and sets its environment.
func (s *stage) prepareLocal(t *testing.T, servers map[string]any, env ...string) {
	t.Helper()
	s.writeLocal(t, servers)
	s.env = append(bareEnvironment(s.folder), "GATEWAY_DATABASE_URL=sqlite:"+filepath.Join(s.folder, "gateway.db"), "GATEWAY_LOG_FORMAT=json")
	s.env = append(s.env, env...)
	s.base = "http://" + freeAddress(t)
}

// writeLocal replaces the servers of the file.
func (s *stage) writeLocal(t *testing.T, servers map[string]any) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.folder, "mcp.json")
	next := file + ".new"
	if err := errors.Join(os.WriteFile(next, raw, 0o600), os.Rename(next, file)); err != nil {
		t.Fatal(err)
	}
}

// runLocal starts the gateway with the file of serveLocal and further arguments.
func (s *stage) runLocal(t *testing.T, more ...string) {
	t.Helper()
	s.gateway = startProcess(t, program{
		name: "gateway", path: s.binary, dir: s.folder, env: s.env,
		args: append([]string{"serve", "--local", filepath.Join(s.folder, "mcp.json"), "--addr", strings.TrimPrefix(s.base, "http://")}, more...),
	})
	eventually(t, readyLimit, "/readyz answers 200", func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodGet, s.base+"/readyz", "", nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	}, s.gateway)
}

// localKey creates a key of the project local, and waits until the gateway accepts
// it: another process has created it.
func (s *stage) localKey(t *testing.T) string {
	t.Helper()
	key := strings.TrimSpace(s.command(t, "keys", "create", "--project", "local"))
	eventually(t, readyLimit, "the gateway accepts the key", func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodPost, s.endpoint("local"), key, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	}, s.gateway)
	return key
}

// TestServeLocal serves the file of a client with two URLs and three programs of
// npm to real clients. The first list is complete, and each server is called.
func TestServeLocal(t *testing.T) {
	root := moduleRoot(t)
	needNodePackages(t, root)
	first := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(3)})
	second := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(3), Eras: []upstreamtest.Era{upstreamtest.Era20250326}})
	s := &stage{root: root, folder: t.TempDir()}
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	notes := filepath.Join(s.folder, "notes")
	if err := os.Mkdir(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(notes, "a.txt"), []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := func(name string, args ...string) map[string]any {
		script := filepath.Join(root, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
		return map[string]any{"command": "node", "args": append([]string{script}, args...)}
	}
	memory := node("memory")
	memory["env"] = map[string]string{"MEMORY_FILE_PATH": "${KEPT_AT}/memory.jsonl"}
	s.serveLocal(t, map[string]any{
		"one": map[string]any{"url": first.Start(t)}, "two": map[string]any{"url": second.Start(t)},
		"every": node("everything"), "files": node("filesystem", notes), "memory": memory,
	}, "KEPT_AT="+s.folder)
	key := s.localKey(t)
	status, _, body, err := send(t.Context(), http.MethodPost, s.endpoint("local"), key, []byte(listRequest))
	for _, alias := range []string{"one", "two", "every", "files", "memory"} {
		if err != nil || !strings.Contains(string(body), `"`+alias+"__") {
			t.Errorf("first list: status %d, %v: no tool of %s", status, err, alias)
		}
	}

	calls := []toolCall{
		{"one__echo", map[string]any{"text": "first"}}, {"two__echo", map[string]any{"text": "second"}},
		{"every__echo", map[string]any{"message": "over a pipe"}},
		{"files__read_text_file", map[string]any{"path": filepath.Join(notes, "a.txt")}},
		{"memory__create_entities", map[string]any{"entities": []any{map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"wrote notes"}}}}},
		{"memory__read_graph", map[string]any{}}, // also of the second client, for which the entity exists
	}
	texts := map[string]string{
		"one__echo": "first", "two__echo": "second", "every__echo": "Echo: over a pipe", "files__read_text_file": "a note",
		"memory__read_graph": "wrote notes",
	}
	for _, client := range []string{"sdk1", "client2-auto"} { // of both generations
		at := slices.IndexFunc(realClients(root), func(c realClient) bool { return c.name == client })
		saw, err := realClients(root)[at].visit(t, s.endpoint("local"), key, calls...)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range texts {
			if !slices.Contains(saw.Tools, name) {
				t.Errorf("%s: %s is not in the list: %q", client, name, saw.Tools)
			}
			if got := saw.Results[name]; got.IsError || len(got.Content) == 0 || !strings.Contains(got.Content[0].Text, want) {
				t.Errorf("%s: %s returned %+v, want the text %q", client, name, got, want)
			}
		}
	}
	if kept, err := os.ReadFile(filepath.Join(s.folder, "memory.jsonl")); err != nil || !strings.Contains(string(kept), "Ada") {
		t.Errorf("file of the memory server: %q, %v", kept, err)
	}
}
