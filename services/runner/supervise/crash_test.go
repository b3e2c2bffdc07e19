//go:build linux || darwin

package supervise_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/supervise"
	"mcpgateway/services/runners/wire"
)

// crashOnce starts a program that crashes, and returns its back-off time.
func (w *world) crashOnce(p *supervise.Program) time.Duration {
	w.t.Helper()
	if _, err := p.Acquire(w.t.Context(), ""); err == nil {
		w.t.Fatal("the program runs")
	}
	r := w.untilState(p, wire.StateBackoff)
	return r.RetryAt.Sub(r.Since)
}

func TestCrashLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p, other := w.program(script("crashes", crashes)), w.program(script("other", serving))
	two := w.acquire(other, "")
	w.crashOnce(p)
	for i, delay := range []time.Duration{1, 2, 4, 8} {
		w.until("the crash", func() bool { r := p.Record(); return r.State == wire.StateBackoff && r.Starts == int64(i+1) })
		r := p.Record()
		if got := r.RetryAt.Sub(w.Now()); got != delay*time.Second || r.LastExit != "exit code 1" || r.Restarts != int64(i) {
			t.Errorf("crash %d: again in %v, %+v", i+1, got, r)
		}
		w.advance(delay*time.Second - 1)
		wantMessage(t, p, wire.StateBackoff, "Ended (exit code 1), again in 1 s")
		w.refused(p, "", "Ended (exit code 1), again in 1 s: no license")
		w.call(two)
		w.untilProcesses(p, 0)
		w.advance(1) // it starts without a call
	}
	w.untilState(p, wire.StateFailed)
	wantMessage(t, p, wire.StateFailed, "Ended 5 times in 10 minutes")
	w.refused(p, "", "Ended 5 times in 10 minutes: no license")
	w.call(two)
	other.Stop()
	w.untilProcesses(other, 0)
	w.advance(10*time.Minute - 1)
	w.refused(p, "", "Ended 5 times in 10 minutes: no license")
	w.advance(1)
	if p.Record().Starts != 5 {
		t.Error("a failed program was started")
	}
	if got := w.crashOnce(p); got != time.Second {
		t.Errorf("after 10 minutes: again in %v", got)
	}
}

func TestFailedIsLeft(t *testing.T) {
	t.Parallel()
	for what, leave := range map[string]func(*supervise.Program){
		"Restart": (*supervise.Program).Restart,
		"Retry":   func(p *supervise.Program) { p.Retry(); _, _ = p.Acquire(context.Background(), "") },
		"Update": func(p *supervise.Program) {
			p.Update(script("crashes", crashes+"; true"))
			_, _ = p.Acquire(context.Background(), "")
		},
	} {
		w := newWorld(t, 0)
		p := w.program(script("crashes", crashes))
		for range 4 {
			w.crashOnce(p)
			w.untilProcesses(p, 0)
			p.Stop() // no automatic start
			w.advance(10 * time.Second)
		}
		_, _ = p.Acquire(t.Context(), "")
		w.untilState(p, wire.StateFailed)
		p.Stop()
		wantMessage(t, p, wire.StateFailed, "Ended 5 times in 10 minutes")
		leave(p)
		w.until(what, func() bool { r := p.Record(); return r.State == wire.StateBackoff && r.Starts == 6 })
	}
}

// TestBackoffTimes advances the clock by 3 minutes in each start, so that the program never
// ends 5 times in 10 minutes.
func TestBackoffTimes(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64][]float64{
		0:    {.8, 1.6, 3.2, 6.4, 12.8, 25.6, 48, 48},
		0.5:  {1, 2, 4, 8, 16, 32, 60, 60},
		0.75: {1.1, 2.2, 4.4, 8.8, 17.6, 35.2, 66, 66},
	} {
		w := newWorld(t, 0)
		w.limits = supervise.NewLimits(supervise.LimitOptions{Clock: w.clock, Random: func() float64 { return random }, Tasks: w.tasks})
		var starts atomic.Int64
		p := w.program(script("never", serving, eager), func(o *supervise.Options) {
			o.Start = func(process.Spec) (*process.Process, error) {
				w.advance(3 * time.Minute)
				starts.Add(1)
				return nil, errors.New("no memory")
			}
		})
		p.Run(t.Context())
		for i, seconds := range want {
			w.until("the back-off", func() bool { return p.Record().State == wire.StateBackoff && starts.Load() == int64(i+1) })
			r := p.Record()
			if got := r.RetryAt.Sub(r.Since).Seconds(); got < seconds-0.001 || got > seconds+0.001 {
				t.Errorf("random %v, crash %d: %v s, want %v", random, i+1, got, seconds)
			}
			w.advance(time.Duration(seconds*float64(time.Second)) + time.Millisecond)
		}
	}
}

func TestSteadyRunResetsBackoff(t *testing.T) {
	t.Parallel()
	for ran, want := range map[time.Duration]time.Duration{time.Minute - 1: 4 * time.Second, time.Minute: time.Second, time.Minute + 1: time.Second} {
		w := newWorld(t, 0)
		healthy := make(chan bool, 1)
		p := w.program(script("s", `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read -r line; exit 3`), func(o *supervise.Options) {
			o.Open = func(ctx context.Context, one *supervise.Process, key string) error {
				if !<-healthy {
					_ = one.Conn().Notify("x", nil)
					_ = one.Conn().Notify("y", nil)
					<-one.Conn().Done()
				}
				return handshake(ctx, one, key)
			}
		})
		healthy <- false
		w.crashOnce(p)
		healthy <- false
		w.advance(time.Second)
		w.until("the second crash", func() bool { r := p.Record(); return r.State == wire.StateBackoff && r.Starts == 2 && r.Processes == 0 })
		healthy <- true
		w.advance(2 * time.Second)
		w.untilState(p, wire.StateRunning)
		one := w.acquire(p, "")
		w.advance(ran)
		_ = one.Conn().Notify("end", nil)
		r := w.untilState(p, wire.StateBackoff)
		if got := r.RetryAt.Sub(r.Since); got != want || r.Message != map[bool]string{true: "Ended (exit code 3), again in 1 s", false: "Ended (exit code 3), again in 4 s"}[want == time.Second] {
			t.Errorf("after %v: again in %v, %s", ran, got, r.Message)
		}
	}
}

func TestEndsThatAreNoCrash(t *testing.T) {
	t.Parallel()
	const once = `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read -r line; `
	for _, c := range []struct {
		name, exit string
		inUse      bool
		set        func(*entry.Entry)
		want       wire.State
	}{
		{"idle", "exit 0", false, func(*entry.Entry) {}, wire.StateStopped},
		{"in use", "exit 0", true, func(*entry.Entry) {}, wire.StateBackoff},
		{"with an error", "exit 1", false, func(*entry.Entry) {}, wire.StateBackoff},
		{"eager", "exit 0", false, eager, wire.StateBackoff},
		{"long line", `head -c 11000000 /dev/zero | tr "\0" x; cat`, true, func(*entry.Entry) {}, wire.StateBackoff},
		{"output closed", "exec >&- 2>&-; cat", false, func(*entry.Entry) {}, wire.StateBackoff},
	} {
		w := newWorld(t, 0)
		p := w.program(script("s", once+c.exit, c.set))
		one := w.acquire(p, "")
		if !c.inUse {
			one.Release()
		}
		_ = one.Conn().Notify("end", nil)
		<-one.Done()
		if r := w.untilState(p, c.want); c.want == wire.StateBackoff && r.Message != "Ended ("+one.Exit()+"), again in 1 s" {
			t.Errorf("%s: %s, %s", c.name, one.Exit(), r.Message)
		}
	}
}

func TestPerClientProgramsAreNotStartedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p := w.program(script("s", crashes, func(e *entry.Entry) { e.PerClient = true }))
	w.crashOnce(p)
	w.untilProcesses(p, 0)
	w.advance(time.Second)
	if r := p.Record(); r.State != wire.StateStopped || r.Starts != 1 || r.SessionMode != "per-client" {
		t.Errorf("record %+v", r)
	}
}
