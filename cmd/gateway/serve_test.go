package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

// output collects a command's output. It is safe for concurrent use.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// surroundings returns the environment of commands that share a database.
func surroundings(t *testing.T, more ...string) []string {
	return append([]string{"GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "data", "gateway.db"), "GATEWAY_LOG_FORMAT=json"}, more...)
}

// commandLine runs a command line and returns its exit code and output.
func commandLine(t *testing.T, environ []string, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e output
	code = run(t.Context(), streams{out: &o, err: &e, in: strings.NewReader(in), environ: environ}, args)
	return code, o.String(), e.String()
}

// serving is a gateway that serves in this process.
type serving struct {
	url     string
	metrics string // address of GATEWAY_METRICS_ADDR's listener
	out     *output
	end     context.CancelFunc
	code    chan int
}

// startServing runs `gateway serve` and returns when it is serving.
func startServing(t *testing.T, environ []string, args ...string) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &serving{out: &output{}, end: cancel, code: make(chan int, 1)}
	logged, w := io.Pipe()
	go func() {
		code := run(ctx, streams{out: s.out, err: w, in: strings.NewReader(""), environ: environ}, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...))
		w.Close()
		s.code <- code
	}()
	t.Cleanup(cancel)
	lines := bufio.NewScanner(logged)
	var seen []string
	for s.url == "" {
		if !lines.Scan() {
			t.Fatalf("gateway not serving:\n%s", strings.Join(seen, "\n"))
		}
		seen = append(seen, lines.Text())
		var line struct{ Msg, URL, Address string }
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		switch line.Msg {
		case "serving":
			s.url = line.URL
		case "serving metrics":
			s.metrics = line.Address
		}
	}
	go func() { _, _ = io.Copy(io.Discard, logged) }()
	return s
}

// post sends a JSON-RPC request to a project and returns the response's body.
func (s *serving) post(t *testing.T, project, body string) (string, error) {
	t.Helper()
	resp, err := http.Post(s.url+"/v1/mcp/"+project+"/request", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// until polls until the condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

func TestCallsFinishOnShutdown(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{upstreamtest.Sleep(), upstreamtest.Echo()}})
	file := filepath.Join(t.TempDir(), "c.json")
	config := fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":%q}}}}}`, up.Start(t))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServing(t, surroundings(t), "--config", file)
	until(t, "the tools are read", func() bool {
		body, err := s.post(t, "p", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		return err == nil && strings.Contains(body, "up__sleep")
	})
	type answer struct {
		body string
		err  error
	}
	slow := make(chan answer, 1)
	go func() {
		body, err := s.post(t, "p", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"up__sleep","arguments":{"ms":700}}}`)
		slow <- answer{body, err}
	}()
	if _, err := up.WaitForRequests(t.Context(), "tools/call", 1); err != nil {
		t.Fatal(err)
	}
	s.end()
	if a := <-slow; a.err != nil || !strings.Contains(a.body, `"id":7,"result"`) {
		t.Errorf("call in flight: %q, %v", a.body, a.err)
	}
	select {
	case code := <-s.code:
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(shutdownTimeout):
		t.Fatal("gateway did not exit")
	}
	if _, err := s.post(t, "p", `{}`); err == nil {
		t.Error("listener still open")
	}
}

func TestDemoPrintedCallWorks(t *testing.T) {
	environ := surroundings(t)
	for range 2 { // the second start finds the project
		s := startServing(t, environ, "--demo")
		until(t, "the line is printed", func() bool { return strings.Contains(s.out.String(), "-d '") })
		_, body, _ := strings.Cut(s.out.String(), "-d '")
		body, _, _ = strings.Cut(body, "'")
		got, err := s.post(t, "demo", body)
		if err != nil || !strings.Contains(got, `"structuredContent"`) {
			t.Errorf("response to %s: %s, %v", body, got, err)
		}
		s.end()
		if code := <-s.code; code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

func TestCommands(t *testing.T) {
	environ := surroundings(t)
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "f.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	declared := file(`{"projects":{"work":{"mcpServers":{"docs":{"url":"http://127.0.0.1:9/mcp"}}}}}`)
	for _, tc := range []struct {
		name string
		args []string
		env  []string
		in   string
		code int
		out  string
		err  string
	}{
		{name: "nothing", code: 2, out: "Usage:"},
		{name: "help", args: []string{"help"}, out: "gateway serve"},
		{name: "help of a command", args: []string{"apply", "-h"}, out: "-dry-run"},
		{name: "help of a command without flags", args: []string{"rekey", "--help"}, out: "Usage: gateway rekey"},
		{name: "help of version", args: []string{"version", "-h"}, out: "Usage: gateway version"},
		{name: "help of migrate", args: []string{"migrate", "-h"}, out: "Usage: gateway migrate up|status"},
		{name: "help of a subcommand", args: []string{"migrate", "up", "-h"}, out: "Usage: gateway migrate up|status"},
		{name: "unknown command", args: []string{"nonsense"}, code: 2, err: `unknown command "nonsense"`},
		{name: "version", args: []string{"version"}, out: "gateway dev"},
		{name: "apply without a file", args: []string{"apply"}, code: 2, err: "-f is required"},
		{name: "apply of a missing file", args: []string{"apply", "-f", "/no/such"}, code: 1, err: "no such file"},
		{name: "apply with an unknown flag", args: []string{"apply", "-x"}, code: 2, err: "not defined"},
		{name: "apply with an extra argument", args: []string{"apply", "-f", declared, "more"}, code: 2, err: `unexpected argument "more"`},
		{name: "dry run", args: []string{"apply", "-f", declared, "--dry-run"}, out: "+ server  work/docs\n2 to create, 0 to update, 0 to delete, 0 unchanged: nothing was changed (dry run)\n"},
		{name: "apply", args: []string{"apply", "-f", declared}, out: "2 to create, 0 to update, 0 to delete, 0 unchanged: applied\n"},
		{name: "apply again from standard input", args: []string{"apply", "-f", "-"}, in: `{"projects":{"work":{}}}`, out: "1 unchanged: applied"},
		{name: "apply of an invalid file", args: []string{"apply", "-f", "-"}, in: `{"projects":{"work":{"nome":1,"mcpServers":{"a":{"command":"x"}}}}}`, code: 1,
			err: "Some fields are invalid: projects.work.mcpServers.a.command: commands are taken only from a file: save this entry and run \"gateway serve --local FILE\"; projects.work.nome: unknown key"},
		{name: "export", args: []string{"export"}, out: `"http://127.0.0.1:9/mcp"`},
		{name: "export of an unknown project", args: []string{"export", "--project", "no"}, code: 1, err: `There is no project "no"`},
		{name: "keys without a subcommand", args: []string{"keys"}, code: 2, err: "create, list, rotate or revoke"},
		{name: "keys without a project", args: []string{"keys", "list"}, code: 2, err: "--project is required"},
		{name: "keys of an unknown project", args: []string{"keys", "create", "--project", "no"}, code: 1, err: `There is no project "no"`},
		{name: "keys list without keys", args: []string{"keys", "list", "--project", "work"}, out: "has no keys"},
		{name: "keys create", args: []string{"keys", "create", "--project", "work", "--name", "ci"}, out: "gwk_"},
		{name: "keys list", args: []string{"keys", "list", "--project", "work"}, out: "active"},
		{name: "rotate without an id", args: []string{"keys", "rotate", "--project", "work"}, code: 2, err: "--id is required"},
		{name: "revoke of an unknown key", args: []string{"keys", "revoke", "--project", "work", "--id", "x"}, code: 1, err: `There is no key "x"`},
		{name: "migrate without a subcommand", args: []string{"migrate"}, code: 2, err: "missing subcommand: up or status"},
		{name: "migrate up", args: []string{"migrate", "up"}, out: "0 migrations applied"},
		{name: "migrate status", args: []string{"migrate", "status"}, out: "applied  0001_spine.sql"},
		{name: "healthcheck of a closed port", args: []string{"healthcheck", "--url", "http://127.0.0.1:1"}, code: 1, err: "refused"},
		{name: "all configuration problems", args: []string{"serve"}, env: []string{"GATEWAY_ADDR=x", "GATEWAY_LOG_LEVEL=loud"}, code: 2, err: "GATEWAY_LOG_LEVEL"},
		{name: "demo on all interfaces", args: []string{"serve", "--demo", "--addr", "0.0.0.0:0"}, env: []string{"GATEWAY_ALLOW_HTTP=true"}, code: 2, err: "loopback"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, errs := commandLine(t, append(environ[:len(environ):len(environ)], tc.env...), tc.in, tc.args...)
			if code != tc.code || !strings.Contains(out, tc.out) || !strings.Contains(errs, tc.err) {
				t.Errorf("exit code %d, want %d\nout: %s\nerr: %s", code, tc.code, out, errs)
			}
			if tc.code == 1 && strings.Count(errs, "\n") != 1 {
				t.Errorf("error has several lines: %q", errs)
			}
			if tc.code == 2 && len(tc.args) > 0 && out != "" {
				t.Errorf("usage error wrote to standard output: %q", out)
			}
		})
	}
}

func TestKeysListAndRotate(t *testing.T) {
	environ := surroundings(t)
	must := func(args ...string) string {
		t.Helper()
		code, out, errs := commandLine(t, environ, `{"projects":{"work":{}}}`, args...)
		if code != 0 {
			t.Fatalf("%v: %s", args, errs)
		}
		return out
	}
	must("apply", "-f", "-")
	first := strings.TrimSpace(must("keys", "create", "--project", "work"))
	list := func() (ids, states []string) {
		var l struct{ Items []keyRecord }
		text := must("keys", "list", "--project", "work", "--json")
		if err := json.Unmarshal([]byte(text), &l); err != nil || strings.Contains(text, first) {
			t.Fatalf("%v: %s", err, text)
		}
		for _, k := range l.Items {
			ids = append(ids, k.ID)
			switch {
			case k.RevokedAt != nil:
				states = append(states, "revoked")
			case k.ExpiresAt != nil:
				states = append(states, "ending")
			default:
				states = append(states, "active")
			}
		}
		return ids, states
	}
	ids, _ := list()
	second := strings.TrimSpace(must("keys", "rotate", "--project", "work", "--id", ids[0], "--grace", "1h"))
	if second == first || len(second) != len(first) {
		t.Errorf("rotate printed %q, old key %q", second, first)
	}
	if _, states := list(); fmt.Sprint(states) != "[active ending]" {
		t.Errorf("states after rotate: %v", states)
	}
	must("keys", "revoke", "--project", "work", "--id", ids[0])
	if _, states := list(); fmt.Sprint(states) != "[active revoked]" {
		t.Errorf("states after revoke: %v", states)
	}
}
