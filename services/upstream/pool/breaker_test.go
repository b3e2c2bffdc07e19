package pool_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// way is an in-process upstream with a connection that tests can break.
type way struct {
	*upstreamtest.Server
	broken atomic.Pointer[func(*http.Request) error] // nil forwards requests
	tries  atomic.Int64                              // number of requests

	streams func(*http.Request) *http.Response // its response is sent if it is not nil
}

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	w.tries.Add(1)
	if broken := w.broken.Load(); broken != nil {
		if err := (*broken)(r); err != nil {
			return nil, err
		}
	}
	if w.streams != nil {
		if response := w.streams(r); response != nil {
			return response, nil
		}
	}
	return inProcess{w.Server}.RoundTrip(r)
}

// breaks sets the error of every request; nil forwards them.
func (w *way) breaks(f func(*http.Request) error) {
	w.tries.Store(0)
	if f == nil {
		w.broken.Store(nil)
		return
	}
	w.broken.Store(&f)
}

func refused(*http.Request) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func reset(*http.Request) error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

func hangs(r *http.Request) error {
	<-r.Context().Done()
	return r.Context().Err()
}

// newWay returns a pool and a target that connects through a way. It is for
// synctest bubbles, so the test must call end.
func newWay() (w *way, p *pool.Pool, to *upstream.Target, end func()) {
	w = &way{Server: upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: upstreamtest.Standard(1)})}
	p = pool.New(&http.Client{Transport: w}, "1")
	to = target("http://way.example/mcp", within(2*time.Second))
	return w, p, to, func() { p.Close(); w.Close() }
}

func wantState(t *testing.T, p *pool.Pool, want upstream.BreakerState) upstream.Breaker {
	t.Helper()
	b := p.Health("srv").Breaker
	if b.State != want {
		t.Fatalf("breaker = %+v, want %s", b, want)
	}
	if (want == upstream.BreakerClosed) != (b.Reason == "" && b.Since.IsZero()) {
		t.Errorf("breaker = %+v", b)
	}
	return b
}

func TestBreakerOpensAfterFiveFailures(t *testing.T) {
	status := func(code int) upstreamtest.Fault {
		return upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Status, Status: code}
	}
	for _, tc := range []struct {
		name  string
		way   func(*http.Request) error
		fault upstreamtest.Fault
		text  string // empty if it stays closed
	}{
		{name: "refused", way: refused, text: "connection refused"},
		{name: "reset", way: reset, text: "reset by peer"},
		{name: "silent", way: hangs, text: "did not respond within 2s"},
		{name: "502", fault: status(502), text: "502"},
		{name: "503", fault: status(503), text: "503"},
		{name: "504", fault: status(504), text: "504"},
		{name: "500", fault: status(500)},
		{name: "404", fault: status(404)},
		{name: "401", fault: status(401)},
		{name: "429", fault: status(429)},
		{name: "HTML", fault: upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.HTML}},
		{name: "JSON-RPC error", fault: upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.JSONRPCError, Error: &upstreamtest.RPCError{Code: -32000, Message: "no"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, p, to, end := newWay()
				defer end()
				mustCall(t, p, to, echo("well"))
				for round := range 2 { // a success in between resets the count
					w.breaks(tc.way)
					if tc.way == nil {
						w.SetFault(tc.fault)
					}
					for i := range 5 {
						if round == 0 && i == 4 {
							break
						}
						wantState(t, p, upstream.BreakerClosed)
						_, _ = p.Call(t.Context(), to, echo("x"))
					}
					if round == 0 {
						w.breaks(nil)
						w.SetFault()
						mustCall(t, p, to, echo("in between"))
					}
				}
				if tc.text == "" {
					wantState(t, p, upstream.BreakerClosed)
					return
				}
				b := wantState(t, p, upstream.BreakerOpen)
				if !strings.Contains(b.Reason, tc.text) || !strings.Contains(b.Reason, `"jira"`) {
					t.Errorf("Reason = %q", b.Reason)
				}
				if b.NextProbe.IsZero() != (tc.name != "silent") {
					t.Errorf("NextProbe = %v", b.NextProbe)
				}
			})
		})
	}
}

func TestCancelledCallsDontOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		mustCall(t, p, to, echo("well"))
		w.breaks(hangs)
		for range 10 {
			for _, limit := range []func(context.Context) (context.Context, context.CancelFunc){
				func(ctx context.Context) (context.Context, context.CancelFunc) {
					return context.WithTimeout(ctx, time.Second)
				},
				func(ctx context.Context) (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(ctx)
					time.AfterFunc(time.Second, cancel)
					return ctx, cancel
				},
			} {
				ctx, cancel := limit(t.Context())
				if _, err := p.Call(ctx, to, echo("x")); err == nil {
					t.Error("call succeeded")
				}
				cancel()
			}
		}
		wantState(t, p, upstream.BreakerClosed)
	})
}

func TestProgressPreventsTimeoutOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Eras: []upstreamtest.Era{upstreamtest.Era20251125}})
		defer s.Close()
		p := pool.New(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := inProcess{s}.RoundTrip(r)
			if err == nil && r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") != "" && resp.StatusCode == http.StatusOK {
				resp.Header = http.Header{"Content-Type": {"text/event-stream"}}
				resp.Body = &slowly{r: r, text: "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n"}
			}
			return resp, err
		})}, "1")
		defer p.Close()
		to := target("http://slow.example/mcp", within(2*time.Second))
		for range 10 {
			_, err := p.Call(t.Context(), to, echo("x"))
			wantFault(t, err, fault.CodeUpstreamTimeout)
		}
		wantState(t, p, upstream.BreakerClosed)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// slowly is a body that returns its text every half second until the request is
// cancelled.
type slowly struct {
	r    *http.Request
	text string
}

func (s *slowly) Read(b []byte) (int, error) {
	select {
	case <-s.r.Context().Done():
		return 0, s.r.Context().Err()
	case <-time.After(500 * time.Millisecond):
		return copy(b, s.text), nil
	}
}

func (s *slowly) Close() error { return nil }

func TestTimedOutUpstreamIsProbedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		mustCall(t, p, to, echo("well"))
		w.breaks(hangs)
		var together sync.WaitGroup
		for range 20 { // those after the fifth do not increase the backoff
			together.Go(func() {
				_, err := p.Call(t.Context(), to, echo("x"))
				wantFault(t, err, fault.CodeUpstreamTimeout)
			})
		}
		together.Wait()
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			want *= time.Second
			b := wantState(t, p, upstream.BreakerOpen)
			if wait := time.Until(b.NextProbe); wait < want*8/10 || wait > want*12/10 {
				t.Errorf("next probe in %s, want about %s", wait, want)
			}
			w.tries.Store(0)
			began := time.Now()
			_, err := p.Call(t.Context(), to, echo("x"))
			wantFault(t, err, fault.CodeUpstreamUnavailable, "did not respond within 2s", "Retry in", "nothing was sent")
			var f *fault.Fault
			if errors.As(err, &f); f.RetryAfter != time.Until(b.NextProbe) {
				t.Errorf("RetryAfter = %s, want %s", f.RetryAfter, time.Until(b.NextProbe))
			}
			if time.Since(began) != 0 || w.tries.Load() != 0 {
				t.Errorf("took %s and %d requests", time.Since(began), w.tries.Load())
			}
			time.Sleep(time.Until(b.NextProbe) - time.Nanosecond)
			_, err = p.Call(t.Context(), to, echo("a moment too early"))
			wantFault(t, err, fault.CodeUpstreamUnavailable)
			time.Sleep(time.Nanosecond)
			var all sync.WaitGroup
			codes := make(chan fault.Code, 50)
			for range cap(codes) {
				all.Go(func() {
					_, err := p.Call(t.Context(), to, echo("x"))
					codes <- fault.From(err).Code
				})
			}
			synctest.Wait()
			wantState(t, p, upstream.BreakerHalfOpen)
			if len(codes) != cap(codes)-1 || w.tries.Load() != 1 {
				t.Errorf("%d calls failed immediately and %d were sent, want all but one and one", len(codes), w.tries.Load())
			}
			all.Wait()
		}
		w.breaks(nil)
		time.Sleep(time.Until(p.Health("srv").Breaker.NextProbe))
		mustCall(t, p, to, echo("back"))
		wantState(t, p, upstream.BreakerClosed)
		if p.Health("srv").Breaker.NextProbe != (time.Time{}) {
			t.Error("closed breaker has a next probe")
		}
	})
}

func TestRefusedConnectionIsProbedByNextCall(t *testing.T) {
	for name, broken := range map[string]func(*http.Request) error{"refused": refused, "reset": reset} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, p, to, end := newWay()
				defer end()
				mustCall(t, p, to, echo("well"))
				w.breaks(broken)
				for range 20 {
					w.tries.Store(0)
					_, err := p.Call(t.Context(), to, echo("x"))
					wantFault(t, err, fault.CodeUpstreamUnavailable)
					if w.tries.Load() == 0 {
						t.Fatal("call was not sent")
					}
				}
				wantState(t, p, upstream.BreakerOpen)
				w.breaks(nil)
				mustCall(t, p, to, echo("back"))
				wantState(t, p, upstream.BreakerClosed)
			})
		})
	}
}

func TestBreakerCloses(t *testing.T) {
	for name, heal := range map[string]func(context.Context, *pool.Pool, *upstream.Target){
		"list": func(ctx context.Context, p *pool.Pool, to *upstream.Target) { _, _, _, _ = p.ListTools(ctx, to) },
		"watch": func(ctx context.Context, p *pool.Pool, to *upstream.Target) {
			p.Watch(ctx, to, func(upstream.Event) {})
		},
		"another configuration": func(ctx context.Context, p *pool.Pool, to *upstream.Target) {
			to.Version++
			_, _ = p.Call(ctx, to, echo("x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1)})
			p, to := newPool(t), target(s.Start(t))
			mustCall(t, p, to, echo("warm"))
			s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Hang})
			short := *to
			short.Timeout = 50 * time.Millisecond
			for range 5 {
				_, err := p.Call(testContext(t), &short, echo("x"))
				wantFault(t, err, fault.CodeUpstreamTimeout)
			}
			s.SetFault()
			wantState(t, p, upstream.BreakerOpen)
			ctx, cancel := context.WithCancel(testContext(t))
			var healing sync.WaitGroup
			defer healing.Wait()
			defer cancel()
			healing.Go(func() { heal(ctx, p, to) })
			if err := retry(func() error {
				if b := p.Health("srv").Breaker; b.State != upstream.BreakerClosed {
					return fmt.Errorf("breaker = %+v", b)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestUnknownServerHasClosedBreaker(t *testing.T) {
	if b := newPool(t).Health("nobody").Breaker; !slices.Contains([]upstream.BreakerState{"", upstream.BreakerClosed}, b.State) {
		t.Errorf("breaker = %+v", b)
	}
}
