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

func TestCallsShareATryOfARefusingUpstream(t *testing.T) {
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
				t.Errorf("%d calls were sent at once, want 1", n)
			}
			all.Wait()
			close(errs)
			for err := range errs {
				if (err == nil) != back {
					t.Errorf("back %v: %v", back, err)
				}
			}
			if n := w.tries.Load(); !back && n != 1 || back && n != 60 {
				t.Errorf("back %v: %d requests", back, n)
			}
		})
	}
}

func TestATryIsWaitedForASecondAtMost(t *testing.T) {
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
		wantFault(t, err, fault.CodeUpstreamUnavailable, "another call is finding out")
		if took := time.Since(began); took != time.Second {
			t.Errorf("it waited for %s", took)
		}
		all.Wait()
		if b := wantState(t, p, upstream.BreakerOpen); b.NextProbe.IsZero() {
			t.Error("an upstream that turned silent has no back-off")
		}
	})
}

func TestATryThatFailsAfterLongHasABackOff(t *testing.T) {
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
				t.Errorf("after a try of %s the next is at %v", took, b.NextProbe)
			}
		})
	}
}

func TestATryThatAnotherConfigurationOvertookDecidesNothing(t *testing.T) {
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

func TestATryThatItsCallerEndsIsLeftToTheNext(t *testing.T) {
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
