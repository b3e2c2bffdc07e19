//go:build linux || darwin

package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/runner/bridge"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/supervise"
	wiring "mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest/programtest"
)

// launcher is the argument with which this test binary launches programs.
const launcher = "launch-program"

func TestMain(m *testing.M) {
	programtest.Main()
	if len(os.Args) > 1 && os.Args[1] == launcher {
		fmt.Fprintln(os.Stderr, process.Launch(os.Args[2:]))
		os.Exit(1)
	}
	leaktest.Main(m)
}

var programs atomic.Int64

// program runs this test binary as a supervised program with the arguments. It
// returns the URL of its bridge.
func program(t *testing.T, arguments []string, edits ...func(*entry.Entry)) (url string, p *supervise.Program) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e := &entry.Entry{Name: "x", Command: entry.Command{Program: own, Args: append([]string{programtest.Argument}, arguments...)}, Settings: entry.Settings{
		Start: entry.Lazy, IdleTimeout: 10 * time.Minute, StartTimeout: time.Minute, MaxProcesses: 4,
	}}
	for _, edit := range edits {
		edit(e)
	}
	tasks := background.New(slog.Default())
	starter := process.NewStarter(tasks, own, launcher)
	b, open := bridge.ForProgram(func() *supervise.Program { return p }, "1.2.3", tasks)
	p = supervise.New(supervise.Options{
		Entry: e, Environment: entry.NewEnvironment(os.Environ()), Start: starter.Start, Open: open, Log: slog.New(slog.DiscardHandler), Tasks: tasks,
		Runner: fmt.Sprintf("bridge-%d-%d", os.Getpid(), programs.Add(1)), Limits: supervise.NewLimits(supervise.LimitOptions{Tasks: tasks}),
	})
	server := httptest.NewServer(b)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.Close(ctx)
		server.CloseClientConnections()
		server.Close()
		starter.Close()
		if n := tasks.Panics(); n > 0 {
			t.Errorf("%d panics", n)
		}
	})
	return server.URL, p
}

// TestPrograms uses real programs with the gateway's client: of each era, with
// garbage on their output, and one that dies at the probe.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{"-era", "2024-11-05"}, {"-era", "2025-11-25", "-garbage", "3"}, {"-era", "2026-07-28", "-garbage", "3"}, {"-probe", "die"}} {
		t.Run(strings.Join(arguments, " "), func(t *testing.T) {
			t.Parallel()
			url, _ := program(t, arguments)
			p, to := newPool(t, url)
			if tools, _, _, err := p.ListTools(t.Context(), to); err != nil || len(tools) < 6 {
				t.Fatalf("%d tools, %v", len(tools), err)
			}
			asked := "not stateless"
			resp, err := p.Call(t.Context(), to, &upstream.Request{
				Method: "tools/call", Params: []byte(`{"name":"ask","arguments":{}}`), Client: upstream.Client{Capabilities: []byte(`{"elicitation":{}}`)},
				Serve: func(_ context.Context, method string, _ []byte) ([]byte, []byte) {
					asked = method
					return []byte(`{"action":"accept","content":{"name":"Ann"}}`), nil
				},
			})
			switch {
			case err != nil:
				t.Error(err)
			case !resp.Stateless && (asked != "elicitation/create" || !strings.Contains(string(resp.Result), "Ann")):
				t.Errorf("asked %s: %s", asked, resp.Result)
			case resp.Stateless && !strings.Contains(string(resp.Result), "input_required"):
				t.Errorf("%s", resp.Result)
			}
		})
	}
}

// TestCrashedProgram calls a program that exits at each call, and again while it is
// not started.
func TestCrashedProgram(t *testing.T) {
	t.Parallel()
	url, p := program(t, []string{"-era", "2025-11-25", "-crash", "call", "-code", "7"})
	c := connect(t, url, "{}")
	r := c.post(c.call(1, "echo", `{"text":"x"}`))
	if r.status != http.StatusNotFound || r.header.Get(wiring.HeaderFailure) != wiring.FailureEnded || r.last().Error == nil || r.last().Error.Message != "the program ended (exit code 7)" {
		t.Errorf("HTTP %d, %+v", r.status, r.last())
	}
	if r := c.post(c.call(2, "echo", `{"text":"x"}`)); r.status != http.StatusNotFound {
		t.Errorf("later call: HTTP %d", r.status)
	}
	again := &client{t: t, url: url}
	r = again.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	if r.status != http.StatusServiceUnavailable || r.header.Get(wiring.HeaderFailure) != wiring.FailureRefused || !strings.Contains(r.last().Error.Message, "exit code 7") || p.Record().State != wiring.StateBackoff {
		t.Errorf("HTTP %d, %+v, state %s", r.status, r.last(), p.Record().State)
	}
}

// TestMostCalls calls a program with as many other calls in progress as a process may
// have, one less and one more.
func TestMostCalls(t *testing.T) {
	t.Parallel()
	url, p := program(t, []string{"-era", "2026-07-28"})
	c := stateless(t, url)
	var held []*supervise.Process
	for _, others := range []int{0, wiring.MaxCalls - 2, wiring.MaxCalls - 1, wiring.MaxCalls} {
		for len(held) < others {
			one, err := p.Acquire(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, one)
		}
		r := c.post(c.call(1, "echo", `{"text":"x"}`))
		if full := others == wiring.MaxCalls; full && (r.status != http.StatusServiceUnavailable || !strings.HasPrefix(r.last().Error.Message, "64 calls")) || !full && r.status != http.StatusOK {
			t.Errorf("beside %d calls: HTTP %d, %+v", others, r.status, r.last())
		}
	}
	for _, one := range held {
		one.Release()
	}
}

// TestMostProcesses starts a session for each process that the entry allows, and one
// more, which replaces an idle one.
func TestMostProcesses(t *testing.T) {
	t.Parallel()
	url, p := program(t, []string{"-era", "2025-11-25"}, func(e *entry.Entry) { e.PerClient, e.MaxProcesses = true, 2 })
	first := connect(t, url, "{}")
	second := connect(t, url, "{}")
	if n := p.Record().Processes; n != 2 {
		t.Errorf("%d processes", n)
	}
	third := connect(t, url, "{}")
	if r := first.post(first.call(1, "echo", `{"text":"x"}`)); r.status != http.StatusNotFound {
		t.Errorf("the idle session: HTTP %d", r.status)
	}
	// Both processes are in use now.
	asked := make(chan struct{}, 2)
	var calls sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range []*client{second, third} {
		resp := c.do(c.request(ctx, http.MethodPost, c.call(5, "ask", "{}")))
		calls.Go(func() { c.read(resp, func(message) { asked <- struct{}{} }) })
	}
	<-asked
	<-asked
	none := &client{t: t, url: url}
	r := none.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	if r.status != http.StatusServiceUnavailable || r.header.Get(wiring.HeaderFailure) != wiring.FailureRefused || !strings.Contains(r.last().Error.Message, "in use") {
		t.Errorf("fourth session: HTTP %d, %+v", r.status, r.last())
	}
	cancel()
	calls.Wait()
}
