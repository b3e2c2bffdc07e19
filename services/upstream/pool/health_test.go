package pool_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/upstream"
)

func TestHealthState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, to, end := newWay()
		defer end()
		want := func(want upstream.State, at time.Time, why string) {
			t.Helper()
			state, since, reason := p.Health("srv").State()
			if state != want || !since.Equal(at) || (reason == "") != (why == "") || !strings.Contains(reason, why) {
				t.Errorf("State() = %s, %v, %q, want %s, %v, %q", state, since, reason, want, at, why)
			}
			if out := p.Outage("srv"); (out != "") != (want == upstream.StateOpen || want == upstream.StateHalfOpen) {
				t.Errorf("Outage() of a server in state %s = %q", want, out)
			}
		}
		want(upstream.StateUnknown, time.Time{}, "")
		began := time.Now()
		mustCall(t, p, to, echo("well"))
		time.Sleep(time.Second)
		mustCall(t, p, to, echo("well"))
		want(upstream.StateOK, began, "")
		w.breaks(hangs)
		began = time.Now().Add(to.Timeout)
		for range 4 {
			_, _ = p.Call(t.Context(), to, echo("x"))
			want(upstream.StateFailing, began, "did not respond")
		}
		_, _ = p.Call(t.Context(), to, echo("x"))
		want(upstream.StateOpen, time.Now(), "did not respond")
		time.Sleep(time.Until(p.Health("srv").Breaker.NextProbe))
		began = time.Now()
		var all sync.WaitGroup
		all.Go(func() { _, _ = p.Call(t.Context(), to, echo("try")) })
		synctest.Wait()
		want(upstream.StateHalfOpen, began, "did not respond")
		if h := p.Health("srv"); h.Active != 1 || h.Waiting != 0 {
			t.Errorf("Active = %d, Waiting = %d", h.Active, h.Waiting)
		}
		all.Wait()
		w.breaks(nil)
		time.Sleep(time.Until(p.Health("srv").Breaker.NextProbe))
		began = time.Now()
		mustCall(t, p, to, echo("back"))
		want(upstream.StateOK, began, "")
		if h := p.Health("srv"); h.Active != 0 {
			t.Errorf("Active = %d", h.Active)
		}
	})
}
