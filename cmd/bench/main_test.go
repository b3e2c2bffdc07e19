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

func TestAWrongCommandLineIsExplained(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "usage: bench COMMAND"},
		{[]string{"run"}, "usage: bench COMMAND"},
		{[]string{"calls", "now"}, `takes flags only, not "now"`},
		{[]string{"calls", "-c", "1,0"}, `"0" is no number of connections`},
		{[]string{"calls", "-rounds", "0"}, "must be positive"},
		{[]string{"calls", "-d", "0s"}, "must be positive"},
		{[]string{"calls", "-rate", "-1"}, "-rate must be"},
		{[]string{"calls", "-revision", "2024-11-05"}, "-revision must be"},
		{[]string{"calls", "-other", "https://127.0.0.1/mcp"}, "want http://HOST:PORT/PATH"},
		{[]string{"calls", "-other", "http://127.0.0.1:1/mcp", "-other-pid", "1"}, "-other needs -other-pid and -upstream"},
		{[]string{"calls", "-other-tool", "echo"}, "need -other"},
		{[]string{"scale", "-tools", "-1"}, "must not be negative"},
		{[]string{"scale", "-times", "0"}, "-times must be 1 at least"},
		{[]string{"scale", "-d", "0s"}, "-d must be positive"},
		{[]string{"report", "-rounds", "0"}, "must be positive"},
		{[]string{"upstream", "-servers", "0"}, "must be 1 at least"},
		{[]string{"floor"}, "-to"},
	} {
		var stderr bytes.Buffer
		err := run(t.Context(), c.args, io.Discard, &stderr)
		if !errors.Is(err, errUsage) || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%q gave %v and said %q", c.args, err, stderr.String())
		}
	}
}

func TestAReportNeedsItsPlaceBeforeItIsMeasured(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("no place\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"report", "-gateway", "/no/such/program", "-into", file}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "bench: begin") {
		t.Errorf("the error is %v", err)
	}
}

func TestChildrenSayWhereTheyListen(t *testing.T) {
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
			t.Errorf("%q said %q, %v", args, line, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%q ended with %v", args, err)
		}
	}
}

func TestMeasurementsArePrintedInEveryForm(t *testing.T) {
	for args, says := range map[string]string{"": "µs per", "-json": `"measured": {`, "-markdown": "| µs per |"} {
		var o options
		o.json, o.markdown = args == "-json", args == "-markdown"
		var b strings.Builder
		if err := o.print(&b, measure.Machine{Cores: 2}, map[string]int{"n": 1}, []measure.Table{{Head: []string{"µs per"}}}); err != nil || !strings.Contains(b.String(), says) {
			t.Errorf("%q printed %q, %v", args, b.String(), err)
		}
	}
}
