package runner_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpgateway/services/runners/wire"
)

// stopTime is the maximum time until a runner has ended that waits for no call. That
// for calls is longer.
const stopTime = 10 * time.Second

// tidy returns the entry of a server that creates a file after the end of its input.
func tidy(t *testing.T, name, file string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`%q:{"command":"/bin/sh","args":["-c","\"$0\" -stdio; sleep 0.5; touch '%s'",%q],"start":"eager"}`, name, file, self)
}

// stop ends the process that needs the runner, and returns how long that took.
func (w *world) stop(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	signalTo(t, w.cmd.Process.Pid, syscall.SIGTERM)
	<-w.ended
	return time.Since(began)
}

// TestProgramsGetTheirTimeToEnd stops runners whose time for calls has ended: their
// programs end on their own.
func TestProgramsGetTheirTimeToEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"of a gateway", "that listens"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "tidy")
			w := newWorld(t, tidy(t, "one", file))
			if kind == "that listens" {
				w.config.Listen, w.config.Token = "127.0.0.1:0", token
			}
			w.start(t, callTime+"=1ms") // the start of the program takes longer
			w.await(t, "one", wire.StateRunning)
			if took := w.stop(t); took > stopTime {
				t.Errorf("the runner ended after %v", took)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("the program was killed: %v", err)
			}
		})
	}
}

// TestGatewaysRunnerWaitsForNoCall stops the gateway of a runner during a call that
// does not end.
func TestGatewaysRunnerWaitsForNoCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock(t, "one", ""))
	w.start(t, callAt+"=one")
	w.await(t, "one", wire.StateRunning) // the call has started it
	if took := w.stop(t); took > stopTime {
		t.Errorf("the runner ended after %v", took)
	}
}

// TestCallsFinishWhenARunnerStops stops a runner that listens, during a call.
func TestCallsFinishWhenARunnerStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock(t, "one", ""))
	w.config.Listen, w.config.Token = "127.0.0.1:0", token
	w.start(t)
	w.await(t, "one", wire.StateStopped)
	request := sleeping(t.Context(), "http://localhost", "one", 2*time.Second)
	request.Header.Set("Authorization", "Bearer "+token)
	type answer struct {
		body string
		err  error
	}
	answers := make(chan answer, 1)
	transport := http2To(t, "tcp", w.address(t))
	go func() {
		resp, err := transport.RoundTrip(request)
		if err != nil {
			answers <- answer{err: err}
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		answers <- answer{string(body), err}
	}()
	w.await(t, "one", wire.StateRunning) // the call has started it
	w.stop(t)
	if a := <-answers; a.err != nil || !strings.Contains(a.body, `"result"`) {
		t.Errorf("call in flight: %s, %v", a.body, a.err)
	}
}
