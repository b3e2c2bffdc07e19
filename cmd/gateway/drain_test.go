package main_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

// waitingTool returns a tool whose calls return once release is closed.
func waitingTool(release <-chan struct{}) upstreamtest.Tool {
	return upstreamtest.Tool{
		Definition: `{"name":"wait","inputSchema":{"type":"object"}}`,
		Call: func(ctx context.Context, _ *upstreamtest.Call) upstreamtest.Result {
			select {
			case <-release:
				return upstreamtest.Text("released")
			case <-ctx.Done():
				return upstreamtest.Failure("cancelled")
			}
		},
	}
}

// drained is a replica with a client's open stream and a call in flight.
type drained struct {
	*replica
	stream   io.Reader
	answer   chan string // result or error of the call
	signaled time.Time   // time of SIGTERM
}

// newDrained starts a replica with the drain delay.
func newDrained(t *testing.T, binary string, up *upstreamtest.Server, url string, delay time.Duration) *drained {
	t.Helper()
	r := newReplica(t, binary, "gateway that drains for "+delay.String(), "sqlite:"+t.TempDir()+"/gateway.db", "GATEWAY_DRAIN_DELAY="+delay.String())
	r.apply(t, map[string]any{"projects": map[string]any{"open": map[string]any{"authMode": "none", "mcpServers": map[string]any{"up": map[string]any{"url": url}}}}})
	r.start(t)
	r.sync(t, "open")
	session, err := openSession(t.Context(), http.DefaultClient, r.base, "open", "")
	if err != nil {
		t.Fatal(err)
	}
	listen, err := mcpRequest(t.Context(), r.base, "open", "", session)
	if err != nil {
		t.Fatal(err)
	}
	listen.Method, listen.Body, listen.ContentLength = http.MethodGet, http.NoBody, 0
	listen.Header.Del("Content-Type")
	listen.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(listen)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("open stream: %v, %v", response, err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	d := &drained{replica: r, stream: response.Body, answer: make(chan string, 1)}
	before := len(up.Requests("tools/call"))
	call, err := mcpRequest(t.Context(), r.base, "open", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"up__wait"}}`, session)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _, body, err := exchange(http.DefaultClient, call)
		if err != nil {
			body = []byte(err.Error())
		}
		d.answer <- string(body)
	}()
	if _, err := up.WaitForRequests(t.Context(), "tools/call", before+1); err != nil {
		t.Fatal(err)
	}
	d.signaled = time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestReplicasServeWhileDraining(t *testing.T) {
	binary, release := buildGateway(t), make(chan struct{})
	up := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{waitingTool(release), upstreamtest.Echo()}})
	url := up.Start(t)

	t.Run("second signal", func(t *testing.T) {
		d := newDrained(t, binary, up, url, 5*time.Minute)
		eventually(t, readyLimit, "/readyz answers 503", d.respondsWith("/readyz", http.StatusServiceUnavailable), d.process)
		request, err := mcpRequest(t.Context(), d.base, "open", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"still"}}}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := new(http.Transport).RoundTrip(request) // on a separate connection
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || !strings.Contains(string(body), "still") || !response.Close {
			t.Errorf("call while draining: %s, %v; Connection: close: %v", body, err, response.Close)
		}
		if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if !d.waitEnd(shutdownLimit) {
			t.Fatal("still running after the second signal")
		}
		<-d.answer
	})

	t.Run("calls in flight", func(t *testing.T) {
		const delay = time.Second
		d := newDrained(t, binary, up, url, delay)
		eventually(t, readyLimit, "the listener is closed", func(ctx context.Context) error {
			if accepts(strings.TrimPrefix(d.base, "http://"))(ctx) == nil {
				return io.ErrNoProgress
			}
			return nil
		}, d.process)
		if took := time.Since(d.signaled); took < delay {
			t.Errorf("listener closed after %v, want at least %v", took, delay)
		}
		close(release)
		if answer := <-d.answer; !strings.Contains(answer, "released") {
			t.Errorf("call in flight returned %s", answer)
		}
		if rest, err := io.ReadAll(d.stream); err != nil {
			t.Errorf("stream ended after %q: %v", rest, err)
		}
		if !d.waitEnd(shutdownLimit) || d.cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("exit: %v", d.cmd.ProcessState)
		}
	})
}
