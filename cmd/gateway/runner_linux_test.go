package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunnerArguments(t *testing.T) {
	environ := surroundings(t)
	long := strings.Repeat("x", 32)
	token, short := clientFile(t, long), clientFile(t, long[1:])
	file := clientFile(t, `{"mcpServers":{"a":{"command":"x"}}}`)
	for _, tc := range []struct {
		name string
		args string
		code int
		err  string
	}{
		{name: "no file", args: "--listen 127.0.0.1:0 --token-file " + token, code: 2, err: "--local FILE is required"},
		{name: "no address", args: "--local " + file + " --token-file " + token, code: 2, err: "--connect or --listen is required"},
		{name: "two addresses", args: "--local " + file + " --listen 127.0.0.1:0 --connect https://x.example --token-file " + token, code: 2, err: "either --connect or --listen"},
		{name: "no token", args: "--local " + file + " --listen 127.0.0.1:0", code: 2, err: "GATEWAY_RUNNER_TOKEN is required"},
		{name: "missing token file", args: "--local " + file + " --listen 127.0.0.1:0 --token-file /nowhere", code: 2, err: "no such file"},
		{name: "short token", args: "--local " + file + " --listen 127.0.0.1:0 --token-file " + short, code: 2, err: "fewer than 32"},
		{name: "every address", args: "--local " + file + " --listen 0.0.0.0:0 --token-file " + token, code: 2, err: "only this computer"},
		{name: "a name", args: "--local " + file + " --listen localhost:0 --token-file " + token, code: 2, err: "only this computer"},
		{name: "relative socket", args: "--local " + file + " --listen unix:x --token-file " + token, code: 2, err: "absolute path"},
		{name: "no process", args: "--local " + file + " --listen 127.0.0.1:0 --max-processes 0 --token-file " + token, code: 2, err: "from 1 to 500"},
		{name: "too many processes", args: "--local " + file + " --listen 127.0.0.1:0 --max-processes 501 --token-file " + token, code: 2, err: "from 1 to 500"},
		{name: "http to another computer", args: "--local " + file + " --connect http://x.example --token-file " + token, code: 2, err: "--allow-http"},
		{name: "unknown subcommand", args: "stat", code: 2, err: `unknown subcommand "stat": use `},
		{name: "status without a runner", args: "status --state " + filepath.Dir(file), code: 1, err: "no runner is running"},
		{name: "logs without a name", args: "logs", code: 2, err: "name a server"},
		{name: "two names", args: "restart a b", code: 2, err: `unexpected argument "b"`},
		{name: "reload of a name", args: "reload x", code: 2, err: "unexpected argument"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, _, errs := commandLine(t, environ, "", append([]string{"runner"}, strings.Fields(tc.args)...)...)
			if code != tc.code || !strings.Contains(errs, tc.err) {
				t.Errorf("exit code %d, want %d: %s", code, tc.code, errs)
			}
		})
	}
}

// TestServeRunsPrograms serves a program and queries its runner.
func TestServeRunsPrograms(t *testing.T) {
	environ := surroundings(t, "PATH="+os.Getenv("PATH"))
	file := clientFile(t, `{"mcpServers":{"ends":{"command":"sh","args":["-c","echo went wrong >&2; exit 3"],"start":"eager"}}}`)
	s := startServing(t, environ, "--local", file)
	var out, errs string
	until(t, "the program has ended", func() bool {
		_, out, errs = commandLine(t, environ, "", "runner", "status")
		return strings.Contains(out, "exit code 3")
	})
	if !strings.Contains(out, `sh -c "echo went wrong >&2; exit 3"`) || errs != "" {
		t.Errorf("status:\n%s%s", out, errs)
	}
	if code, out, errs := commandLine(t, environ, "", "runner", "logs", "ends"); code != 0 || !strings.Contains(out, "went wrong") {
		t.Errorf("logs: %d\n%s%s", code, out, errs)
	}
	if code, out, errs := commandLine(t, environ, "", "runner", "status", "--json"); code != 0 || !strings.HasPrefix(out, "[\n") || !strings.Contains(out, `"name": "ends"`) {
		t.Errorf("records: %d\n%s%s", code, out, errs)
	}
	rewrite(t, file, `{"mcpServers":{"other":{"command":"true"}}}`)
	if code, out, errs := commandLine(t, environ, "", "runner", "reload"); code != 0 || out != "added: other\nremoved: ends\n" {
		t.Errorf("reload: %d\n%s%s", code, out, errs)
	}
	s.stop(t)
	if code, _, errs := commandLine(t, environ, "", "runner", "status"); code != 1 || !strings.Contains(errs, "no runner is running") {
		t.Errorf("after the end: %d %s", code, errs)
	}
}
