package pool_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

const calls, waiting = 512, 1024 // at once, to one server

func TestConcurrentCallLimit(t *testing.T) {
	for _, n := range []int{calls - 1, calls, calls + 1, calls + waiting - 1, calls + waiting, calls + waiting + 1} {
		synctest.Test(t, func(t *testing.T) {
			w, p, to, end := newWay()
			defer end()
			mustCall(t, p, to, echo("well"))
			w.breaks(hangs)
			to.Timeout = time.Minute
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			errs := make(chan error, n)
			for range n {
				all.Go(func() {
					_, err := p.Call(ctx, to, echo("x"))
					errs <- err
				})
			}
			synctest.Wait()
			if sent := w.tries.Load(); sent != int64(min(n, calls)) {
				t.Errorf("%d of %d calls were sent", sent, n)
			}
			if failed := len(errs); failed != max(0, n-calls-waiting) {
				t.Errorf("%d of %d calls failed immediately", failed, n)
			}
			for range len(errs) {
				err := <-errs
				wantFault(t, err, fault.CodeUpstreamUnavailable, "512 calls in flight", "1024 in the queue", "Retry in 1 s")
				var f *fault.Fault
				if errors.As(err, &f); f.RetryAfter != time.Second {
					t.Errorf("RetryAfter = %s", f.RetryAfter)
				}
			}
			cancel()
			all.Wait()
			w.breaks(nil)
			mustCall(t, p, to, echo("room again"))
		})
	}
}

func TestQueuedCallsFollowEndedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		w, p, to, end := newWay()
		defer end()
		mustCall(t, p, to, echo("well"))
		w.breaks(func(r *http.Request) error {
			select {
			case <-proceed:
				return nil
			case <-r.Context().Done():
				return r.Context().Err()
			}
		})
		to.Timeout = time.Minute
		var all sync.WaitGroup
		for range calls + waiting {
			all.Go(func() { mustCall(t, p, to, echo("x")) })
		}
		synctest.Wait()
		for i := range int64(10) {
			proceed <- struct{}{}
			synctest.Wait()
			if sent := w.tries.Load(); sent != calls+i+1 {
				t.Errorf("after %d ended calls %d were sent", i+1, sent)
			}
		}
		close(proceed)
		all.Wait()
	})
}

func TestQueueTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		mustCall(t, p, to, echo("well"))
		w.breaks(hangs)
		to.Timeout = time.Minute
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for range calls {
			all.Go(func() { _, _ = p.Call(ctx, to, echo("x")) })
		}
		synctest.Wait()
		short, end2 := context.WithTimeout(t.Context(), time.Second)
		defer end2()
		_, err := p.Call(short, to, echo("late"))
		wantFault(t, err, fault.CodeUpstreamTimeout, "Nothing was sent", "512")
		if sent := w.tries.Load(); sent != calls {
			t.Errorf("%d were sent", sent)
		}
		if b := p.Health("srv"); b.ConsecutiveFailures != 0 {
			t.Errorf("unsent call counts as upstream failure: %+v", b)
		}
		cancel()
		all.Wait()
	})
}

// TestHangingUpstreamIsIsolated checks that one upstream responds immediately
// while 2,000 calls wait for another, and that these use limited resources.
func TestHangingUpstreamIsIsolated(t *testing.T) {
	hung := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	hung.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Hang})
	well := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	p := newPool(t)
	bad := target(hung.Start(t), within(time.Hour), func(t *upstream.Target) { t.ServerID = "hung" })
	good := target(well.Start(t))
	mustCall(t, p, good, echo("warm"))
	if _, err := p.Describe(testContext(t), bad); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	const n = 2000
	errs := make(chan error, n)
	for range n {
		all.Go(func() {
			_, err := p.Call(ctx, bad, echo("x"))
			errs <- err
		})
	}
	for range n - calls - waiting {
		wantFault(t, <-errs, fault.CodeUpstreamUnavailable, "Retry in")
	}
	if err := retry(func() error {
		if len(hung.Requests("tools/call")) != calls {
			return errors.New("not all calls are under way")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		mustCall(t, p, good, echo("y"))
	}
	if n := len(hung.Requests("tools/call")); n != calls {
		t.Errorf("hanging upstream has %d calls", n)
	}
	if len(errs) != 0 {
		t.Errorf("%d waiting calls ended", len(errs))
	}
}
