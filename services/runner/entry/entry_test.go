package entry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/runner/entry"
)

func parse(t *testing.T, raw string) *entry.Entry {
	t.Helper()
	o, err := rawjson.ParseObject([]byte(raw), rawjson.Strict)
	if err != nil {
		t.Fatal(err)
	}
	return entry.Parse("s", o)
}

func TestDefaults(t *testing.T) {
	got := parse(t, `{"command":"npx","args":["-y","x"]}`)
	want := &entry.Entry{
		Name:     "s",
		Command:  entry.Command{Program: "npx", Args: []string{"-y", "x"}},
		Settings: entry.Settings{Start: entry.Lazy, IdleTimeout: 10 * time.Minute, StartTimeout: 2 * time.Minute, MaxProcesses: 4, Memory: 2048, Files: 4096},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = parse(t, `{"command":"x","sessionMode":"per-client","roots":true,"idleTimeout":0,"start":"eager","sandbox":{},"env":{"N":1,"B":true}}`)
	if got.Problem != "" || got.MaxProcesses != 10 || !got.Roots || got.IdleTimeout != 0 || got.Start != entry.Eager || got.Writable == nil || got.Env["N"] != "1" || got.Env["B"] != "true" {
		t.Errorf("parsed %+v", got)
	}
}

func TestProblems(t *testing.T) {
	repeat := func(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	variables := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"N%d":"x"`, i))
		}
		return strings.Join(list, ",")
	}
	for _, c := range []struct{ raw, want string }{
		{`{"command":""}`, "command must name a program"},
		{`{"command":["npx"]}`, "command must be a string"},
		{`{"command":"x","args":"-y"}`, "args must be a list"},
		{`{"command":"x","args":[1]}`, "args[0] must be a string"},
		{`{"command":"x","args":["a\u0000"]}`, "null character"},
		{`{"command":"x","args":[` + repeat(`""`, entry.MaxArgs) + `]}`, ""},
		{`{"command":"x","args":[` + repeat(`""`, entry.MaxArgs+1) + `]}`, "more than 256 elements"},
		{`{"command":"x","args":["` + strings.Repeat("x", entry.MaxValue) + `"]}`, ""},
		{`{"command":"x","args":["` + strings.Repeat("x", entry.MaxValue+1) + `"]}`, "more than 32768 bytes"},
		{`{"command":"x","env":{` + variables(entry.MaxEnv) + `}}`, ""},
		{`{"command":"x","env":{` + variables(entry.MaxEnv+1) + `}}`, "more than 128 variables"},
		{`{"command":"x","env":{"A=B":"x"}}`, "env has the name"},
		{`{"command":"x","env":{"A":{}}}`, "env.A must be a string"},
		{`{"command":"x","start":"now"}`, "start must be lazy or eager"},
		{`{"command":"x","roots":true}`, "per-client"},
		{`{"command":"x","sandbox":["~/x"]}`, "sandbox must be an object"},
		{`{"command":"x","sandbox":{"read":[]}}`, "sandbox.read is not known"},
		{`{"command":"x","maxProcesses":0}`, "from 1 to 100"},
		{`{"command":"x","maxProcesses":1}`, ""},
		{`{"command":"x","maxProcesses":100}`, ""},
		{`{"command":"x","maxProcesses":101}`, "from 1 to 100"},
		{`{"command":"x","idleTimeout":9999}`, "from 10000 to 86400000"},
		{`{"command":"x","idleTimeout":10000}`, ""},
		{`{"command":"x","idleTimeout":86400001}`, "from 10000 to 86400000"},
		{`{"command":"x","startTimeout":999}`, "from 1000 to 600000"},
		{`{"command":"x","startTimeout":600001}`, "from 1000 to 600000"},
		{`{"command":"x","memory":63}`, "from 64 to 65536"},
		{`{"command":"x","files":65537}`, "from 64 to 65536"},
		{`{"command":"x","memory":1.5}`, "whole number"},
	} {
		got := parse(t, c.raw).Problem
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%.80s: %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestHashIsOfTheCommand(t *testing.T) {
	base := parse(t, `{"command":"x","args":["a"],"env":{"A":"1"}}`).Hash()
	for raw, same := range map[string]bool{
		`{"env":{"A":"1"},"args":["a"],"command":"x","idleTimeout":0,"memory":64}`: true,
		`{"command":"y","args":["a"],"env":{"A":"1"}}`:                             false,
		`{"command":"x","args":["a","b"],"env":{"A":"1"}}`:                         false,
		`{"command":"x","args":["a"],"env":{"A":"2"}}`:                             false,
		`{"command":"x","args":["a"],"env":{"A":"1"},"cwd":"/"}`:                   false,
		`{"command":"x","args":["a"],"env":{"A":"1"},"envFile":"x"}`:               false,
		`{"command":"x","args":["a"],"env":{"A":"1"},"sandbox":{"write":[]}}`:      false,
	} {
		if got := parse(t, raw).Hash() == base; got != same {
			t.Errorf("%s: same hash %v", raw, got)
		}
	}
}

var runnerVariables = entry.NewEnvironment([]string{
	"PATH=/bin", "HOME=/home/me", "LC_ALL=C", "TOKEN=secret", "EMPTY=", "GATEWAY_MASTER_KEY=k", "DATABASE_URL=postgres", "HTTPS_PROXY=http://proxy",
})

func TestReferences(t *testing.T) {
	c := entry.Command{
		Program: "~/bin/x", Args: []string{"${TOKEN}", "${env:TOKEN}", "a-${TOKEN}-b", "${EMPTY:-d}", "${NONE:-d}", "${NONE:-}", "$TOKEN"},
		Env: map[string]string{"A": "x${TOKEN}"}, Dir: "~/work", Writable: []string{"~/notes"},
	}
	got, err := c.Resolve(runnerVariables, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &entry.Program{
		Program: "/home/me/bin/x", Args: []string{"secret", "secret", "a-secret-b", "d", "d", "", "$TOKEN"},
		Env: []string{"A=xsecret", "HOME=/home/me", "HTTPS_PROXY=http://proxy", "LC_ALL=C", "PATH=/bin"}, Dir: "/home/me/work", Writable: []string{"/home/me/notes"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReferenceProblems(t *testing.T) {
	for arg, want := range map[string]string{
		"${MISSING}":                "args[0] needs the variable MISSING",
		"${workspaceFolder}":        "args[0] has ${workspaceFolder}, which only editors replace: write the value, or set the variable workspaceFolder before the start",
		"${input:token}":            "args[0] asks for ${input:token}",
		"${GATEWAY_MASTER_KEY}":     "not for programs",
		"${env:GATEWAY_MASTER_KEY}": "not for programs",
		"${GATEWAY_X:-y}":           "not for programs",
		"${}":                       "write ${NAME}",
	} {
		c := entry.Command{Program: "x", Args: []string{arg}}
		if _, err := c.Resolve(runnerVariables, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
	c := entry.Command{Program: "x", Env: map[string]string{"A": "${MISSING}"}}
	var unset *entry.Unset
	if _, err := c.Resolve(runnerVariables, nil); !errors.As(err, &unset) || unset.Key != "env.A" || unset.Name != "MISSING" {
		t.Errorf("unset variable: %v", err)
	}
	for _, c := range []entry.Command{{Program: "x", Dir: "work"}, {Program: "x", Writable: []string{"notes"}}, {Program: "x", Env: map[string]string{"GATEWAY_RUNNER": "x"}}} {
		if _, err := c.Resolve(runnerVariables, nil); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestEnvFile(t *testing.T) {
	read := func(content string, err error) func(string) ([]byte, error) {
		return func(path string) ([]byte, error) {
			if path != "/home/me/.env" {
				t.Errorf("read %s", path)
			}
			return []byte(content), err
		}
	}
	c := entry.Command{Program: "x", EnvFile: "~/.env", Env: map[string]string{"B": "entry"}}
	got, err := c.Resolve(entry.NewEnvironment([]string{"HOME=/home/me"}), read("# comment\nexport A='x y'\nB=file\n", nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A=x y", "B=entry", "HOME=/home/me"}, got.Env); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Resolve(runnerVariables, read("", errors.New("refused"))); err == nil || !strings.Contains(err.Error(), "envFile: refused") {
		t.Errorf("refused file: %v", err)
	}
	if _, err := c.Resolve(runnerVariables, read("GATEWAY_MASTER_KEY=x\n", nil)); err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("reserved name: %v", err)
	}
}
