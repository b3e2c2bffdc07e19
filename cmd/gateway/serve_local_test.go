package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/services/config"
	"mcpgateway/services/runner/files"
	"mcpgateway/services/upstream/upstreamtest"
)

// clientFile writes a file that only this user can write.
func clientFile(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mcp.json")
	rewrite(t, path, content)
	return path
}

func rewrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// exported returns the servers of a project as `gateway export` writes them.
func exported(t *testing.T, environ []string, project string) map[string]map[string]any {
	t.Helper()
	code, out, errs := commandLine(t, environ, "", "export", "--project", project)
	var file struct {
		Projects map[string]struct {
			Servers map[string]map[string]any `json:"mcpServers"`
		}
	}
	if err := json.Unmarshal([]byte(out), &file); code != 0 || err != nil {
		t.Fatalf("export: %d %s %v", code, errs, err)
	}
	return file.Projects[project].Servers
}

func TestServeLocalDeclaresEveryEntry(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{upstreamtest.Echo()}})
	environ := surroundings(t)
	one := clientFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q},"notes":{"command":"/bin/no-such-program","args":["an-argument"],"env":{"T":"secret-value"},"denyTools":["x"],"idleTimeout":20000}}}`, up.Start(t)))
	two := clientFile(t, `{"servers":{"other":{"type":"stdio","command":"no-such-program","sessionMode":"per-client"}}}`)
	s := startServing(t, environ, "--local", one, two)
	until(t, "the line is printed", func() bool { return strings.Contains(s.out.String(), "keys create") })
	if out := s.out.String(); !strings.Contains(out, s.url+"/v1/mcp/local/request\nTools of programs appear when") || strings.Contains(out, "gwk_") {
		t.Errorf("printed off a terminal: %s", out)
	}
	code, key, errs := commandLine(t, environ, "", "keys", "create", "--project", "local", "--name", "test")
	if code != 0 {
		t.Fatal(errs)
	}
	if body, err := s.post(t, "local", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil || strings.Contains(body, "up__echo") {
		t.Errorf("without a key: %s, %v", body, err)
	}
	until(t, "the tools of the URL are listed", func() bool {
		return strings.Contains(s.list(t, "local", strings.TrimSpace(key)), "up__echo")
	})
	servers := exported(t, environ, "local")
	if notes := servers["notes"]; notes == nil || notes["url"] != nil || notes["command"] != nil || notes["sessionMode"] != nil || fmt.Sprint(notes["denyTools"]) != "[x]" {
		t.Errorf("exported program: %v", notes)
	}
	if len(servers) != 3 || servers["up"]["url"] == nil {
		t.Errorf("exported servers: %v", servers)
	}
	s.stop(t)
	db, err := os.ReadFile(config.DatabaseFile(environ))
	if err != nil || strings.Contains(string(db), "an-argument") || strings.Contains(string(db), "secret-value") {
		t.Errorf("the database has a command: %v", err)
	}
}

// list returns the response to tools/list with a key.
func (s *serving) list(t *testing.T, project, key string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/mcp/"+project+"/request", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// stop ends the gateway and waits for it.
func (s *serving) stop(t *testing.T) {
	t.Helper()
	s.end()
	if code := <-s.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestServeRefusesFiles(t *testing.T) {
	environ := surroundings(t)
	program := `{"mcpServers":{"a":{"command":"x"}}}`
	declared := `{"projects":{"p":{"mcpServers":{"a":{"command":"x"}}}}}`
	writable := func(content string) string {
		path := clientFile(t, content)
		if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // must be refused
			t.Fatal(err)
		}
		return path
	}
	local, url := clientFile(t, program), clientFile(t, `{"projects":{"p":{}}}`)
	many := []string{"serve", "--local"}
	for range files.MaxLocal + 1 {
		many = append(many, local)
	}
	for _, tc := range []struct {
		name, in string
		args     []string
		env      []string
		code     int
		err      string
	}{
		{name: "a file that others can write", args: []string{"serve", "--local", writable(program)}, code: 2, err: "others may write it (mode 0666): chmod go-w"},
		{name: "such a declarative file", args: []string{"serve", "--config", writable(declared)}, code: 2, err: "others may write it (mode 0666): chmod go-w"},
		{name: "such a client's file", args: []string{"serve", "--config", writable(program)}, code: 2, err: "others may write it"},
		{name: "such a file to check", args: []string{"runner", "check", "--local", writable(program)}, code: 2, err: "others may write it"},
		{name: "a missing file", args: []string{"serve", "--local", filepath.Join(t.TempDir(), "x")}, code: 2, err: "no such file"},
		{name: "standard input with a command", in: declared, args: []string{"serve", "--config", "-"}, code: 1, err: "commands are taken only from a file"},
		{name: "both kinds", args: []string{"serve", "--config", url, "--local", local}, code: 2, err: "use either --config or --local"},
		{name: "too many files", args: many, code: 2, err: "at most 8 files"},
		{name: "the same file twice", args: []string{"serve", "--local", local, local}, code: 1, err: "is named twice"},
		{name: "equal names", args: []string{"serve", "--local", local, "--local", clientFile(t, program)}, code: 1, err: "names must be unique"},
		{name: "an unknown key", args: []string{"serve", "--config", clientFile(t, `{"projects":{"p":{"mcpServers":{"a":{"command":"x","argz":[]}}}}}`)}, code: 1, err: "argz: unknown key: did you mean args?"},
		{name: "a project for anyone, off loopback", args: []string{"serve", "--addr", "0.0.0.0:0", "--config", clientFile(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"a":{"command":"x"}}}}}`)},
			env: []string{"GATEWAY_ALLOW_HTTP=true"}, code: 1, err: "projects.p.authMode: the project has local servers"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, _, errs := commandLine(t, append(environ[:len(environ):len(environ)], tc.env...), tc.in, tc.args...)
			if code != tc.code || !strings.Contains(errs, tc.err) {
				t.Errorf("exit code %d, want %d: %s", code, tc.code, errs)
			}
		})
	}
	t.Run("a file without commands may be writable", func(t *testing.T) {
		s := startServing(t, environ, "--config", writable(`{"projects":{"p":{"mcpServers":{}}}}`))
		s.stop(t)
	})
}

func TestServingAppliesChangedFiles(t *testing.T) {
	environ := surroundings(t)
	up := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{upstreamtest.Echo()}}).Start(t)
	file := clientFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q},"a":{"command":"no-such-program"}}}`, up))
	s := startServing(t, environ, "--local", file)
	code, key, errs := commandLine(t, environ, "", "keys", "create", "--project", "local")
	if code != 0 {
		t.Fatal(errs)
	}
	key = strings.TrimSpace(key)
	until(t, "the tools are read", func() bool { return strings.Contains(s.list(t, "local", key), "up__echo") })
	rewrite(t, file, fmt.Sprintf(`{"mcpServers":{"second":{"url":%q},"a":{"command":"no-such-program","denyTools":["d"]}}}`, up))
	until(t, "the new server replaces the other", func() bool {
		tools := s.list(t, "local", key)
		return strings.Contains(tools, "second__echo") && !strings.Contains(tools, "up__echo")
	})
	servers := exported(t, environ, "local")
	if fmt.Sprint(servers["a"]["denyTools"]) != "[d]" || servers["up"] == nil {
		t.Errorf("servers after the change: %v", servers)
	}
	s.stop(t)
	rewrite(t, file, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q}}}`, up))
	s = startServing(t, environ, "--local", file)
	until(t, "the server returns", func() bool { return strings.Contains(s.list(t, "local", key), "up__echo") })
	s.stop(t)
}

func TestRunnerCheck(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "here"), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	environ := []string{"PATH=" + bin, "HOME=" + bin, "TOKEN=secret-value"}
	good := clientFile(t, `{"mcpServers":{"a":{"command":"here","args":["${TOKEN}"],"color":1},"b":{"command":"~/here"},"c":{"url":"http://127.0.0.1:9/mcp"}}}`)
	bad := clientFile(t, `{"mcpServers":{"d":{"command":"absent"},"e":{"command":"here","env":{"K":"${MISSING}"}},"f":{"command":"here","args":["${input:key}"]},
		"g h":{"command":"here"},"i":{"command":"here","envFile":"/no/such/file"},"j":{"command":"./here"},"k":{"command":"here","memory":1}}}`)
	code, out, errs := commandLine(t, environ, "", "runner", "check", "--local", good)
	if code != 0 || strings.Contains(out, "secret-value") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for _, want := range []string{good, filepath.Join(bin, "here"), "URL", "ignored: color"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	code, out, errs = commandLine(t, environ, "", "runner", "check", "--local", good, "--local", bad)
	if code != 1 || !strings.Contains(errs, "mistakes in the files: 7") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{
		"absent is not on the runner's PATH", "env.K needs the variable MISSING", "asks for ${input:key}", `"g h"`, "envFile: /no/such/file", "relative path", "memory must be a whole number",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, args := range [][]string{{"runner"}, {"runner", "check"}, {"runner", "check", good}} {
		if code, _, errs := commandLine(t, environ, "", args...); code != 2 {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}
