package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/cmd/bench/measure"
)

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string // in standard error
	}{
		{nil, "usage: bench COMMAND"},
		{[]string{"run"}, "usage: bench COMMAND"},
		{[]string{"calls", "now"}, `unexpected argument "now"`},
		{[]string{"calls", "-c", "1,0"}, `invalid number of connections "0"`},
		{[]string{"calls", "-rounds", "0"}, "must be positive"},
		{[]string{"calls", "-d", "0s"}, "must be positive"},
		{[]string{"calls", "-rate", "-1"}, "-rate must be"},
		{[]string{"calls", "-revision", "2024-11-05"}, "-revision must be"},
		{[]string{"calls", "-other", "https://127.0.0.1/mcp"}, "must be http://HOST:PORT/PATH"},
		{[]string{"calls", "-other", "http://127.0.0.1:1/mcp", "-other-pid", "1"}, "-other requires -other-pid and -upstream"},
		{[]string{"calls", "-other-tool", "echo"}, "require -other"},
		{[]string{"scale", "-tools", "-1"}, "must not be negative"},
		{[]string{"scale", "-times", "0"}, "-times must be at least 1"},
		{[]string{"scale", "-d", "0s"}, "-d must be positive"},
		{[]string{"many", "-times", "0"}, "at least one measurement"},
		{[]string{"many", "-servers", "50"}, "51 servers"},
		{[]string{"many", "-people", "11", "-connections", "501"}, "50 connections per person"},
		{[]string{"report", "-rounds", "0"}, "must be positive"},
		{[]string{"upstream", "-servers", "0"}, "must be at least 1"},
		{[]string{"floor"}, "-to"},
	}
	for _, tt := range tests {
		var stderr bytes.Buffer
		err := run(t.Context(), tt.args, io.Discard, &stderr)
		if !errors.Is(err, errUsage) || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("run(%q) = %v with %q on stderr, want errUsage with %q", tt.args, err, stderr.String(), tt.want)
		}
	}
}

func TestReportChecksMarkersFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("no markers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"report", "-gateway", "/no/such/program", "-into", file}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "bench: begin") {
		t.Errorf("run(report) = %v, want an error naming the missing marker", err)
	}
}

func TestChildrenPrintAddress(t *testing.T) {
	for _, args := range [][]string{{"upstream", "-servers", "2"}, {"floor", "-to", "127.0.0.1:1"}} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- run(ctx, args, w, io.Discard)
			_ = w.Close()
		}()
		line, err := bufio.NewReader(r).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "READY http://127.0.0.1:") {
			t.Errorf("%q: first line %q, %v, want READY and the URL", args, line, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run(%q) = %v after cancellation, want nil", args, err)
		}
	}
}

func TestOutputFormats(t *testing.T) {
	for args, want := range map[string]string{"": "µs per", "-json": `"measured": {`, "-markdown": "| µs per |"} {
		var o options
		o.json, o.markdown = args == "-json", args == "-markdown"
		var b strings.Builder
		if err := o.print(&b, measure.Machine{Cores: 2}, map[string]int{"n": 1}, []measure.Table{{Head: []string{"µs per"}}}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("print with %q wrote %q, %v, want %q in it", args, b.String(), err, want)
		}
	}
}
