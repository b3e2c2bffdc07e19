//go:build linux || darwin

package supervise_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcpgateway/services/runner/entry"
)

// fakeDocker writes its arguments to a file, serves as a container, and lists one
// container.
const fakeDocker = `#!/bin/sh
echo "$*" >>"$HOME/calls"
case "$*" in
*"run --"*) ` + serving + ` ;;
*"ps --"*) echo 4f5e6d; echo 7a8b9c ;;
esac
`

func TestContainersAreLabelledAndRemoved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		program string
		args    []string
		before  string // of the labels; empty means that there are none
		global  string
	}{
		{"docker", []string{"run", "--rm", "-i", "image"}, "run", ""},
		{"podman", []string{"--log-level", "error", "run", "image", "run"}, "--log-level error run", "--log-level error "},
		{"docker", []string{"container", "run", "image"}, "container run", ""},
		{"docker", []string{"exec", "run", "-x"}, "", ""},
		{"other", []string{"run", "--x"}, "", ""},
	} {
		w := newWorld(t, 0)
		bin := t.TempDir()
		syscall.ForkLock.RLock() // no child inherits the open file, which would be busy
		err := os.WriteFile(filepath.Join(bin, c.program), []byte(fakeDocker), 0o700)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		w.env["PATH"] = bin + ":" + w.env["PATH"]
		p := w.program(script("s", "", func(e *entry.Entry) { e.Program, e.Args = c.program, c.args }))
		if c.args[0] == "exec" { // it serves nothing
			if _, err := p.Acquire(t.Context(), ""); err == nil {
				t.Error("the container runs")
			}
		} else {
			w.acquire(p, "").End()
		}
		w.untilProcesses(p, 0)
		raw, err := os.ReadFile(filepath.Join(w.env["HOME"], "calls"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join(c.args, " ")
		if c.before != "" {
			marker := w.runner + ".1"
			want = c.before + " --label gateway.runner=" + w.runner + " --label gateway.process=" + marker + strings.TrimPrefix(want, c.before) + "\n" +
				c.global + "ps --all --quiet --filter label=gateway.process=" + marker + "\n" + c.global + "rm --force 4f5e6d 7a8b9c"
		}
		if got := strings.TrimSpace(string(raw)); got != want {
			t.Errorf("%s %v:\n%s\nwant\n%s", c.program, c.args, got, want)
		}
	}
}
