package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"mcpgateway/services/upstream/upstreamtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAWrongCommandLineIsExplained(t *testing.T) {
	for _, c := range []struct {
		args  []string
		says  string
		wrong bool
	}{
		{nil, "usage: conformance COMMAND", true},
		{[]string{"walk"}, "usage: conformance COMMAND", true},
		{[]string{"client"}, "takes 1 arguments besides its flags, not 0", true},
		{[]string{"run", "now"}, "takes 0 arguments", true},
		{[]string{"shim", "-nothing"}, "-nothing", true},
		{[]string{"shim", "-header", "no colon"}, "Name: value", true},
		{[]string{"shim"}, "", false},
		{[]string{"run", "-only", "("}, "", false},
	} {
		var stderr bytes.Buffer
		err := run(t.Context(), c.args, io.Discard, &stderr)
		if err == nil || errors.Is(err, errUsage) != c.wrong || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%q gave %v and said %q", c.args, err, stderr.String())
		}
	}
}

func TestTheShimSaysWhereItListens(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"shim", "-target", "http://127.0.0.1:1/x", "-header", "A: b"}, w, io.Discard)
		_ = w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "READY http://127.0.0.1:") {
		t.Errorf("got %q, %v", line, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTheClientVisitsTheServerOfTheSuite(t *testing.T) {
	t.Setenv("MCP_CONFORMANCE_SCENARIO", "tools_call")
	t.Setenv("MCP_CONFORMANCE_CONTEXT", `{"toolCalls":[{"name":"echo","arguments":{"text":"from the context"}}]}`)
	s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(6)})
	var told bytes.Buffer
	if err := run(t.Context(), []string{"client", s.Start(t)}, &told, io.Discard); err != nil {
		t.Fatal(err)
	}
	if s.Calls() != 1 || !strings.Contains(told.String(), "from the context") {
		t.Errorf("%d calls, told:\n%s", s.Calls(), told.String())
	}
}
