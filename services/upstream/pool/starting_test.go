package pool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

// starting configures a way to a program that starts with the first request and
// responds after the given time.
func starting(w *way, to *upstream.Target, length time.Duration) {
	var began atomic.Pointer[time.Time]
	left := func() time.Duration {
		if at := began.Load(); at != nil {
			return time.Until(at.Add(length))
		}
		return 0
	}
	w.breaks(func(r *http.Request) error {
		now := time.Now()
		began.CompareAndSwap(nil, &now)
		select {
		case <-time.After(left()):
			return nil
		case <-r.Context().Done():
			return r.Context().Err()
		}
	})
	to.Connect = func() time.Duration { return 2 * time.Minute }
	to.Starting = func() string {
		if left() <= 0 {
			return ""
		}
		return fmt.Sprintf("starting, %d s", int((length - left()).Seconds()))
	}
}

// notified records the progress notifications of a call.
type notified struct {
	mu    sync.Mutex
	texts []string
	last  float64
	falls bool // a value was not larger than the one before
}

func (h *notified) notify(_ string, params []byte) {
	var p struct {
		Progress float64 `json:"progress"`
		Message  string  `json:"message"`
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.falls = h.falls || json.Unmarshal(params, &p) != nil || p.Progress <= h.last
	h.last = p.Progress
	h.texts = append(h.texts, p.Message)
}

func withProgress(h *notified) *upstream.Request {
	r := echo("x")
	r.Params = []byte(`{"name":"echo","arguments":{"text":"x"},"_meta":{"progressToken":"p"}}`)
	r.Notify = h.notify
	return r
}

func TestCallsReportTheStartOfTheirServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		starting(w, to, 90*time.Second)
		to.Timeout = 2 * time.Minute
		var calls sync.WaitGroup
		all := make([]notified, 20)
		for i := range all {
			calls.Go(func() {
				if _, err := p.Call(context.Background(), to, withProgress(&all[i])); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		for i := range all {
			h := &all[i]
			if len(h.texts) < 88 || len(h.texts) > 90 || h.texts[11] != "starting, 12 s" || h.falls {
				t.Errorf("call %d: %d notifications %q, falling %v", i, len(h.texts), h.texts[:min(len(h.texts), 12)], h.falls)
			}
		}
		if got := w.tries.Load(); got != 21 {
			t.Errorf("%d requests, want one that starts the server and 20 calls", got)
		}
	})
}

// streams configures a way that sends each event of the response to a call after
// the given pause.
func streams(w *way, pause time.Duration, events ...string) {
	w.streams = func(r *http.Request) *http.Response {
		var m struct{ Method string }
		body, err := r.GetBody()
		if err != nil || json.NewDecoder(body).Decode(&m) != nil || m.Method != "tools/call" {
			return nil
		}
		reader, writer := io.Pipe()
		go func() {
			for _, e := range events {
				time.Sleep(pause)
				_, _ = io.WriteString(writer, e+"\n\n")
			}
			_ = writer.Close()
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: reader, Request: r}
	}
}

func TestProgressOfTheServerEndsThatOfItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		to.Timeout, to.Starting = time.Minute, func() string { return "starting" } // the record is late
		to.EndEvent = "failure"
		streams(w, 3500*time.Millisecond, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"message":"half"}}`,
			"event: failure\ndata: "+`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Ended (exit code 1): token=abcdefgh"}}`)
		var h notified
		_, err := p.Call(testContext(t), to, withProgress(&h))
		wantFault(t, err, fault.CodeUpstreamUnavailable, "can't respond: Ended (exit code 1): token=[redacted]")
		if want := []string{"starting", "starting", "starting", "half"}; !slices.Equal(h.texts, want) || h.falls {
			t.Errorf("notifications %q, falling %v", h.texts, h.falls)
		}
		silent := withProgress(&h)
		silent.Params = echo("x").Params // without a progress token
		silent.Notify = func(_ string, params []byte) {
			if !strings.Contains(string(params), "half") {
				t.Errorf("a call without a progress token got %s", params)
			}
		}
		_, err = p.Call(testContext(t), to, silent)
		wantFault(t, err, fault.CodeUpstreamUnavailable)
	})
}

func TestAStartIsNotAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		starting(w, to, 90*time.Second)
		for range 6 { // 12 of 90 seconds
			_, err := p.Call(testContext(t), to, echo("x"))
			wantFault(t, err, fault.CodeUpstreamTimeout, "did not respond within 2s: starting, ")
		}
		if h := p.Health("srv"); h.ConsecutiveFailures != 0 || h.Breaker.State == upstream.BreakerOpen {
			t.Errorf("health %+v", h)
		}
		// The gateway's own requests wait for the start.
		if _, _, _, err := p.ListTools(context.Background(), to); err != nil {
			t.Errorf("list: %v", err)
		}
	})
}

func TestEndOfAProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		mustCall(t, p, to, echo("x"))
		w.breaks(func(*http.Request) error { return &upstream.Ended{Text: "Ended (exit code 1)"} })
		for range 6 {
			_, err := p.Call(testContext(t), to, echo("x"))
			wantFault(t, err, fault.CodeUpstreamUnavailable, "can't respond: Ended (exit code 1)")
		}
		wantState(t, p, upstream.BreakerClosed)
		var once atomic.Bool
		w.breaks(func(*http.Request) error {
			if once.CompareAndSwap(false, true) {
				return &upstream.Ended{Text: "Ended"}
			}
			return nil
		})
		mustCall(t, p, to, &upstream.Request{Method: "tools/call", Params: echo("x").Params, Repeatable: true})
		w.breaks(func(*http.Request) error { return upstream.Stopped("u", "Ended 5 times in 10 minutes") })
		for range 6 {
			_, err := p.Call(testContext(t), to, echo("x"))
			wantFault(t, err, fault.CodeUpstreamUnavailable, "Ended 5 times in 10 minutes")
		}
		wantState(t, p, upstream.BreakerClosed)
	})
}

func TestResumedServerIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		w.breaks(refused)
		for range 5 {
			_, err := p.Call(testContext(t), to, echo("x"))
			wantFault(t, err, fault.CodeUpstreamUnavailable)
		}
		wantState(t, p, upstream.BreakerOpen)
		w.breaks(nil)
		p.Resume("srv")
		p.Resume("unknown")
		wantState(t, p, upstream.BreakerClosed)
		mustCall(t, p, to, echo("x"))
	})
}
