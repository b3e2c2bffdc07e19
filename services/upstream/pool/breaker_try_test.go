package pool_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

func TestCallsShareProbe(t *testing.T) {
	for _, back := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w, p, to, end := newWay()
			defer end()
			mustCall(t, p, to, echo("well"))
			w.breaks(reset)
			for range 5 {
				_, _ = p.Call(t.Context(), to, echo("x"))
			}
			wantState(t, p, upstream.BreakerOpen)
			var first atomic.Bool
			w.breaks(func(r *http.Request) error {
				if !first.Swap(true) {
					time.Sleep(500 * time.Millisecond)
				}
				if back {
					return nil
				}
				return reset(r)
			})
			var all sync.WaitGroup
			errs := make(chan error, 60)
			for range cap(errs) {
				all.Go(func() {
					_, err := p.Call(t.Context(), to, echo("x"))
					errs <- err
				})
			}
			synctest.Wait()
			wantState(t, p, upstream.BreakerHalfOpen)
			if n := w.tries.Load(); n != 1 {
				t.Errorf("%d calls were sent, want 1", n)
			}
			all.Wait()
			close(errs)
			for err := range errs {
				if (err == nil) != back {
					t.Errorf("recovered %v: %v", back, err)
				}
			}
			if n := w.tries.Load(); !back && n != 1 || back && n != 60 {
				t.Errorf("recovered %v: %d requests", back, n)
			}
		})
	}
}

func TestProbeWaitLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		mustCall(t, p, to, echo("well"))
		w.breaks(reset)
		for range 5 {
			_, _ = p.Call(t.Context(), to, echo("x"))
		}
		w.breaks(hangs)
		var all sync.WaitGroup
		all.Go(func() { _, _ = p.Call(t.Context(), to, echo("try")) })
		synctest.Wait()
		began := time.Now()
		_, err := p.Call(t.Context(), to, echo("x"))
		wantFault(t, err, fault.CodeUpstreamUnavailable, "A probe is in progress")
		if took := time.Since(began); took != time.Second {
			t.Errorf("waited for %s", took)
		}
		all.Wait()
		if b := wantState(t, p, upstream.BreakerOpen); b.NextProbe.IsZero() {
			t.Error("upstream that started to time out has no backoff")
		}
	})
}

func TestSlowProbeFailureHasBackoff(t *testing.T) {
	for took, waits := range map[time.Duration]bool{time.Second: false, time.Second + time.Millisecond: true} {
		synctest.Test(t, func(t *testing.T) {
			w, p, to, end := newWay()
			defer end()
			mustCall(t, p, to, echo("well"))
			w.breaks(reset)
			for range 5 {
				_, _ = p.Call(t.Context(), to, echo("x"))
			}
			w.breaks(func(r *http.Request) error {
				time.Sleep(took)
				return reset(r)
			})
			_, err := p.Call(t.Context(), to, echo("try"))
			wantFault(t, err, fault.CodeUpstreamUnavailable, "reset by peer")
			if b := wantState(t, p, upstream.BreakerOpen); b.NextProbe.IsZero() == waits {
				t.Errorf("after a probe of %s NextProbe = %v", took, b.NextProbe)
			}
		})
	}
}

func TestOutdatedProbeIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		mustCall(t, p, to, echo("well"))
		w.breaks(reset)
		fail := func() {
			for range 5 {
				_, _ = p.Call(t.Context(), to, echo("x"))
			}
			wantState(t, p, upstream.BreakerOpen)
		}
		fail()
		older, proceed := *to, make(chan struct{})
		w.breaks(func(r *http.Request) error { <-proceed; return reset(r) })
		var all sync.WaitGroup
		all.Go(func() { _, _ = p.Call(t.Context(), &older, echo("try")) })
		synctest.Wait()
		wantState(t, p, upstream.BreakerHalfOpen)
		to.Version++
		w.breaks(reset)
		fail()
		w.breaks(hangs)
		all.Go(func() { _, _ = p.Call(t.Context(), to, echo("the next try")) })
		synctest.Wait()
		close(proceed)
		synctest.Wait()
		wantState(t, p, upstream.BreakerHalfOpen)
		all.Wait()
		wantState(t, p, upstream.BreakerOpen)
	})
}

func TestCancelledProbePassesToNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		mustCall(t, p, to, echo("well"))
		w.breaks(hangs)
		for range 5 {
			_, _ = p.Call(t.Context(), to, echo("x"))
		}
		b := wantState(t, p, upstream.BreakerOpen)
		time.Sleep(time.Until(b.NextProbe))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := p.Call(ctx, to, echo("try")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		wantState(t, p, upstream.BreakerOpen)
		w.breaks(nil)
		mustCall(t, p, to, echo("back"))
	})
}
