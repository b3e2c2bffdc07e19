//go:build linux || darwin

package supervise_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runners/wire"
)

func TestLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	const secret, private = "s3cret-of-the-file", "hidden+value/1"
	w.env["TOKEN"], w.env["PRIVATE"], w.env["SHORT"] = secret, private, "no"
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("API_KEY=from-the-env-file\nMODE=development\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.program(script("s", `echo hello
echo "  token $1 ${SHORT} $HOME" >&2
printf '\033[31mred\033[0m\a\n' >&2
echo "key $API_KEY mode $MODE" >&2
printf '%4094s$%s\n' "" "$1" | tr ' ' x >&2
echo "found hidden%2Bvalue%2F1" >&2
`+serving, func(e *entry.Entry) {
		e.Args = append(e.Args, "sh", "${TOKEN}", "${HOME}")
		e.Env, e.EnvFile = map[string]string{"P": "x${PRIVATE}", "SHORT": "${SHORT}"}, file
	}))
	w.acquire(p, "")
	w.until("the lines", hasLine(p, "found"))
	w.until("standard output", hasLine(p, "stdout: hello"))
	var lines []string
	for _, line := range p.Log().Lines {
		if line.Text != "stdout: hello" {
			lines = append(lines, line.Text)
		}
		if !line.At.Equal(w.Now()) || len(line.Text) > wire.MaxLogLine {
			t.Errorf("line at %v with %d bytes", line.At, len(line.Text))
		}
	}
	want := []string{"  token [redacted] no " + w.env["HOME"], "red", "key [redacted] mode development", strings.Repeat("x", 4094) + "$[", "found [redacted]"}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("lines:\n%s", got)
	}
	if n := p.Record().StrayLines; n != 1 {
		t.Errorf("%d other lines", n)
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{wire.MaxLogLines - 1, wire.MaxLogLines, wire.MaxLogLines + 1} {
		w := newWorld(t, 0)
		p := w.program(script("s", fmt.Sprintf(`i=0; while [ $i -lt %d ]; do i=$((i+1)); echo "line $i" >&2; done; %s`, n, serving)))
		w.acquire(p, "")
		w.until("the last line", hasLine(p, fmt.Sprintf("line %d", n)))
		lines := p.Log().Lines
		if first := fmt.Sprintf("line %d", max(1, n-wire.MaxLogLines+1)); len(lines) != min(n, wire.MaxLogLines) || lines[0].Text != first {
			t.Errorf("%d lines: %d, from %q", n, len(lines), lines[0].Text)
		}
	}
	for _, size := range []int{wire.MaxLogLine - 1, wire.MaxLogLine, wire.MaxLogLine + 1, 1 << 20} {
		w := newWorld(t, 0)
		p := w.program(script("s", fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x >&2; printf '\nlast\n' >&2; %s`, size, serving)))
		w.acquire(p, "")
		w.until("the last line", hasLine(p, "last"))
		if lines := p.Log().Lines; len(lines) != 2 || len(lines[0].Text) != min(size, wire.MaxLogLine) {
			t.Errorf("%d bytes: %d lines, %d bytes", size, len(lines), len(lines[0].Text))
		}
	}
}
