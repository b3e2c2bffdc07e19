package pool_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// times makes the first n requests end as f says.
func times(n int64, f func(*http.Request) error) func(*http.Request) error {
	var seen atomic.Int64
	return func(r *http.Request) error {
		if seen.Add(1) > n {
			return nil
		}
		return f(r)
	}
}

// brokenAnswer lets a request reach the upstream and loses the answer.
func brokenAnswer(w *way) func(*http.Request) error {
	return func(r *http.Request) error {
		resp, err := inProcess{w.Server}.RoundTrip(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return reset(r)
	}
}

func TestRequestsAreRepeatedOnlyWhereThatIsSafe(t *testing.T) {
	lost := func(w *way) func(*http.Request) error { return brokenAnswer(w) }
	unsent := func(*way) func(*http.Request) error { return refused }
	for _, tc := range []struct {
		name, method string
		way          func(*way) func(*http.Request) error
		failures     int64
		succeeds     bool
		tries        int64
		served       int // how often the upstream saw the request
	}{
		{"a call that was not sent", "tools/call", unsent, 1, true, 2, 1},
		{"a call that cannot be sent", "tools/call", unsent, 2, false, 2, 0},
		{"a call that was sent", "tools/call", lost, 1, false, 1, 1},
		{"a subscription that was sent", "resources/subscribe", lost, 1, false, 1, 1},
		{"a list that was sent", "tools/list", lost, 1, true, 2, 2},
		{"a list that never comes back", "tools/list", lost, 3, false, 2, 2},
		{"a resource that was asked for", "resources/read", lost, 1, true, 2, 2},
		{"a prompt that was asked for", "prompts/get", lost, 1, true, 2, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, p, to, end := newWay()
				defer end()
				mustCall(t, p, to, echo("well"))
				before := len(w.Requests(tc.method))
				w.breaks(times(tc.failures, tc.way(w)))
				r := &upstream.Request{Method: tc.method, Params: []byte(`{}`)}
				if tc.method == "tools/call" {
					r = echo("x")
				}
				_, err := p.Call(t.Context(), to, r)
				if (err == nil) != tc.succeeds {
					t.Errorf("got %v", err)
				}
				if err != nil {
					wantFault(t, err, fault.CodeUpstreamUnavailable)
				}
				if n := w.tries.Load(); n != tc.tries {
					t.Errorf("%d requests, want %d", n, tc.tries)
				}
				if n := len(w.Requests(tc.method)) - before; n != tc.served {
					t.Errorf("the upstream saw it %d times, want %d", n, tc.served)
				}
			})
		})
	}
}

func TestConnectingIsTriedTwice(t *testing.T) {
	for failures, want := range map[int64]bool{1: true, 2: false} {
		for name, broken := range map[string]func(*http.Request) error{"refused": refused, "reset": reset} {
			synctest.Test(t, func(t *testing.T) {
				w, p, to, end := newWay()
				defer end()
				w.breaks(times(failures, broken))
				if _, err := p.Call(t.Context(), to, echo("x")); (err == nil) != want {
					t.Errorf("%s %d times: %v", name, failures, err)
				}
				if n := len(w.Requests("tools/call")); n != map[bool]int{true: 1}[want] {
					t.Errorf("%s %d times: the upstream saw %d calls", name, failures, n)
				}
			})
		}
	}
}

// A dial that failed while an answer was resumed says nothing about the request,
// which the upstream may have acted on.
func TestACallWhoseAnswerCannotBeResumedIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := upstreamtest.New(upstreamtest.Options{
			Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1), Resumable: true, Answer: upstreamtest.AnswerSSE,
		})
		defer s.Close()
		p := pool.New(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return nil, refused(r)
			}
			return inProcess{s}.RoundTrip(r)
		})}, "1")
		defer p.Close()
		to := target("http://cut.example/mcp")
		mustCall(t, p, to, echo("well"))
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.CutStream})
		_, err := p.Call(t.Context(), to, echo("x"))
		wantFault(t, err, fault.CodeUpstreamUnavailable, "before the result")
		if !strings.Contains(err.Error(), "refused") {
			t.Errorf("the answer was not asked for again: %v", err)
		}
		if n := len(s.Requests("tools/call")); n != 2 {
			t.Errorf("the upstream saw %d calls, want 2", n)
		}
	})
}
