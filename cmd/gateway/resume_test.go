package main_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/upstream/upstreamtest"
)

// wire is a TCP proxy between a client and replicas.
type wire struct {
	listener net.Listener

	mu    sync.Mutex
	to    string // address of the replica for new connections
	conns []net.Conn
	waits []passage
}

// passage waits for a text that passes in either direction.
type passage struct {
	text   string
	passed chan struct{}
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener, to: to}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { w.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut(to)
		serving.Wait()
	})
	return w
}

// serve copies one connection to its end.
func (w *wire) serve(client net.Conn) {
	defer client.Close()
	w.mu.Lock()
	to := w.to
	w.mu.Unlock()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	w.mu.Lock()
	w.conns = append(w.conns, client, server)
	w.mu.Unlock()
	var copying sync.WaitGroup
	for _, ends := range [][2]net.Conn{{client, server}, {server, client}} {
		copying.Go(func() {
			_, _ = io.Copy(ends[1], io.TeeReader(ends[0], w)) // ends when either side closes
			_ = ends[1].Close()
		})
	}
	copying.Wait()
}

// Write implements io.Writer for the bytes that pass.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.waits {
		if wait := &w.waits[i]; wait.passed != nil && bytes.Contains(bytes.ToLower(p), []byte(wait.text)) {
			close(wait.passed)
			wait.passed = nil
		}
	}
	return len(p), nil
}

// passes returns a channel that is closed when the lower-case text has passed.
func (w *wire) passes(text string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{})
	w.waits = append(w.waits, passage{text, c})
	return c
}

// cut closes all connections. New ones go to another replica.
func (w *wire) cut(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// TestCallOutlivesConnectionAndReplica cuts the connection of the TypeScript SDK
// 1.x during a call. The SDK reconnects to another replica, the first one is
// shut down, and the result arrives.
func TestCallOutlivesConnectionAndReplica(t *testing.T) {
	root := moduleRoot(t)
	needNodePackages(t, root)
	binary, dsn, release := buildGateway(t), modelstest.Postgres(t), make(chan struct{})
	tool := waitingTool(release)
	wait := tool.Call
	tool.Call = func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
		if err := c.Progress(1, 2, "waiting"); err != nil {
			return upstreamtest.Failure(err.Error())
		}
		return wait(ctx, c)
	}
	up := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{tool}})
	one, two := newReplica(t, binary, "first replica", dsn), newReplica(t, binary, "second replica", dsn)
	one.apply(t, map[string]any{"projects": map[string]any{"open": map[string]any{"authMode": "none", "mcpServers": map[string]any{"up": map[string]any{"url": up.Start(t)}}}}})
	one.start(t)
	two.start(t)
	one.sync(t, "open")
	first, second := strings.TrimPrefix(one.base, "http://"), strings.TrimPrefix(two.base, "http://")
	w := newWire(t, first)
	primed, resumed := w.passes("retry: 2000"), w.passes("last-event-id: ")

	client := startProcess(t, program{
		name: "sdk1", path: "node", dir: root, env: bareEnvironment(t.TempDir()),
		args: []string{filepath.Join(root, "playwright", "clients", "sdk1-progress.mjs"), "http://" + w.listener.Addr().String() + "/v1/mcp/open/request", "up__wait"},
	})
	await := func(what string, c <-chan struct{}) {
		t.Helper()
		eventually(t, visitLimit, what, func(context.Context) error {
			select {
			case <-c:
				return nil
			default:
				return io.ErrNoProgress
			}
		}, client)
	}
	await("the response is a stream", primed)
	w.cut(second)
	await("the client has reconnected", resumed)
	if err := one.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	close(release)
	if !client.waitEnd(visitLimit) || client.cmd.ProcessState.ExitCode() != 0 {
		t.Fatalf("client: %v", client.cmd.ProcessState)
	}
	if got := client.log.String(); !strings.Contains(got, `"text":"released"`) {
		t.Errorf("result: %s", got)
	}
	if !one.waitEnd(shutdownLimit) || one.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("first replica: %v", one.cmd.ProcessState)
	}
}
