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

// times returns a function that calls f for the first n requests.
func times(n int64, f func(*http.Request) error) func(*http.Request) error {
	var seen atomic.Int64
	return func(r *http.Request) error {
		if seen.Add(1) > n {
			return nil
		}
		return f(r)
	}
}

// brokenAnswer forwards a request to the upstream and loses the response.
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

func TestRequestsRetryOnlyIfSafe(t *testing.T) {
	lost := func(w *way) func(*http.Request) error { return brokenAnswer(w) }
	unsent := func(*way) func(*http.Request) error { return refused }
	for _, tc := range []struct {
		name, method string
		way          func(*way) func(*http.Request) error
		failures     int64
		succeeds     bool
		tries        int64
		served       int // number of requests that the upstream received
	}{
		{"unsent call", "tools/call", unsent, 1, true, 2, 1},
		{"permanently unsent call", "tools/call", unsent, 2, false, 2, 0},
		{"sent call", "tools/call", lost, 1, false, 1, 1},
		{"sent subscription", "resources/subscribe", lost, 1, false, 1, 1},
		{"sent list", "tools/list", lost, 1, true, 2, 2},
		{"list without response", "tools/list", lost, 3, false, 2, 2},
		{"sent resource read", "resources/read", lost, 1, true, 2, 2},
		{"sent prompt", "prompts/get", lost, 1, true, 2, 2},
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
					t.Errorf("upstream received it %d times, want %d", n, tc.served)
				}
			})
		})
	}
}

func TestConnectRetriesOnce(t *testing.T) {
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
					t.Errorf("%s %d times: upstream received %d calls", name, failures, n)
				}
			})
		}
	}
}

// TestUnresumableCallIsNotRetried fails the connection while a response is
// resumed. That doesn't prove that the request was not processed, so it must
// not be retried.
func TestUnresumableCallIsNotRetried(t *testing.T) {
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
			t.Errorf("response was not resumed: %v", err)
		}
		if n := len(s.Requests("tools/call")); n != 2 {
			t.Errorf("upstream received %d calls, want 2", n)
		}
	})
}
