//go:build linux || darwin

package supervise_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/supervise"
	"mcpgateway/services/runners/wire"
)

// gated returns an Open that waits for gate after the handshake.
func gated(gate <-chan struct{}, opened func()) func(*supervise.Options) {
	return func(o *supervise.Options) {
		o.Open = func(ctx context.Context, p *supervise.Process, key string) error {
			opened()
			if err := handshake(ctx, p, key); err != nil {
				return err
			}
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func TestCallersShareAStart(t *testing.T) {
	t.Parallel()
	w, gate := newWorld(t, 0), make(chan struct{})
	p := w.program(script("slow", slow), gated(gate, func() {}))
	wantMessage(t, p, wire.StateStopped, "")
	const callers, impatient = 20, 3
	var got sync.Map
	var all, leaving sync.WaitGroup
	giveUp, cancel := context.WithCancel(t.Context())
	for i := range callers {
		ctx, group := t.Context(), &all
		if i < impatient {
			ctx, group = giveUp, &leaving
		}
		group.Go(func() {
			one, err := p.Acquire(ctx, "")
			if err == nil {
				got.Store(i, one)
			} else if want := "Starting, 90 s: installing 3 of 9: context canceled"; i >= impatient || !errors.Is(err, context.Canceled) || err.Error() != want {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	w.until("the line of the start", hasLine(p, "installing"))
	w.advance(90 * time.Second)
	wantMessage(t, p, wire.StateStarting, "Starting, 90 s: installing 3 of 9")
	cancel()
	leaving.Wait()
	close(gate)
	all.Wait()
	first, _ := got.Load(callers - 1)
	for i := impatient; i < callers; i++ {
		if one, ok := got.Load(i); !ok || one != first {
			t.Errorf("caller %d has another process", i)
		}
	}
	r := p.Record()
	if r.State != wire.StateRunning || r.Starts != 1 || r.Processes != 1 || !r.Since.Equal(w.Now()) || r.Program != "sh" || r.SessionMode != "shared" {
		t.Errorf("record %+v", r)
	}
}

func TestStartTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p := w.program(script("silent", silent))
	waiting := make(chan error, 1)
	go func() {
		_, err := p.Acquire(t.Context(), "")
		waiting <- err
	}()
	w.untilProcesses(p, 1)
	w.advance(2*time.Minute - 1)
	wantMessage(t, p, wire.StateStarting, "Starting, 119 s")
	w.advance(1)
	if err := <-waiting; err == nil || err.Error() != "Ended (no answer within 120 s), again in 1 s" {
		t.Errorf("call: %v", err)
	}
	wantMessage(t, p, wire.StateBackoff, "Ended (no answer within 120 s), again in 1 s")
}

func TestEndAtTheProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ends   int
		starts int64
		state  wire.State
	}{{1, 2, wire.StateRunning}, {2, 3, wire.StateRunning}, {3, 3, wire.StateBackoff}} {
		w := newWorld(t, 0)
		seen := map[*supervise.Process]bool{}
		p := w.program(script("probed", serving), func(o *supervise.Options) {
			o.Open = func(ctx context.Context, one *supervise.Process, key string) error {
				if seen[one] = true; len(seen) <= c.ends {
					return supervise.ErrAgain
				}
				one.Assign("handshake")
				return handshake(ctx, one, key)
			}
		})
		one, err := p.Acquire(t.Context(), "")
		if r := p.Record(); r.State != c.state || r.Starts != c.starts || r.Restarts != 0 {
			t.Errorf("%d ends: %+v", c.ends, r)
		}
		if c.state == wire.StateRunning {
			if again := w.acquire(p, "handshake"); err != nil || again != one || one.Key() != "handshake" {
				t.Errorf("%d ends: another process has the assigned key", c.ends)
			}
		}
	}
}

func TestProgramsThatCanNotStart(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*entry.Entry{
		"none-such is not on the runner's PATH":                                       script("", "", func(e *entry.Entry) { e.Command.Program = "none-such" }),
		"args[1] needs the variable NOTES, which is not set: set it before the start": script("", "${NOTES}"),
		"memory must be 64 to 65536":                                                  script("", serving, func(e *entry.Entry) { e.Problem = "memory must be 64 to 65536" }),
	} {
		w := newWorld(t, 0)
		p := w.program(e)
		for range 2 {
			w.refused(p, "", want)
			wantMessage(t, p, wire.StateFailed, want)
		}
	}
	w := newWorld(t, 0)
	p := w.program(script("lost", serving, func(e *entry.Entry) { e.Dir = "/none/such" }))
	if _, err := p.Acquire(t.Context(), ""); err == nil || !strings.HasPrefix(err.Error(), "Ended (") || p.Record().State != wire.StateBackoff {
		t.Errorf("without a directory: %v", err)
	}
}

func TestEagerProgramsRunAlways(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p := w.program(script("eager", serving, eager, idleAfter(10*time.Second)))
	wantMessage(t, p, wire.StateStopped, "")
	p.Run(t.Context())
	w.untilState(p, wire.StateRunning)
	w.advance(time.Minute) // idle
	wantMessage(t, p, wire.StateRunning, "")
	one := w.acquire(p, "")
	one.End()
	<-one.Done()
	w.until("another process", func() bool { r := p.Record(); return r.State == wire.StateRunning && r.Starts == 2 })
	p.Stop()
	w.untilProcesses(p, 0)
	wantMessage(t, p, wire.StateStopped, "")
	w.acquire(p, "")
	p.Restart()
	w.until("the restart", func() bool {
		r := p.Record()
		return r.State == wire.StateRunning && r.Restarts == 1 && r.Processes == 1
	})
}

func TestHeldPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p := w.program(script("new", serving, eager), func(o *supervise.Options) { o.Held = true })
	p.Run(t.Context())
	p.Restart()
	w.refused(p, "", "Changed in the file: reload needed")
	wantMessage(t, p, wire.StateHeld, "Changed in the file: reload needed")
	p.SetHeld(false)
	w.untilState(p, wire.StateRunning)
	p.SetHeld(true) // the old command continues
	wantMessage(t, p, wire.StateRunning, "")
	if !p.Record().Held {
		t.Error("the record is not held")
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p := w.program(script("s", serving))
	old := w.acquire(p, "")
	faster := script("s", serving, idleAfter(10*time.Second))
	p.Update(faster)
	if again := w.acquire(p, ""); again != old {
		t.Error("a setting replaced the process")
	}
	old.Release()
	other := script("s", "true; "+serving)
	p.Update(other)
	replacement := w.acquire(p, "")
	w.call(old) // its call continues
	if replacement == old || replacement.Hash() != other.Hash() || old.Hash() != faster.Hash() || p.Record().Hash != other.Hash() {
		t.Error("the command was not replaced")
	}
	old.Release()
	<-old.Done()
	w.call(replacement)
	p.Update(script("s", serving, func(e *entry.Entry) { e.Problem = "wrong" }))
	wantMessage(t, p, wire.StateFailed, "wrong")
	replacement.Release()
	<-replacement.Done()
	p.Update(other)
	w.acquire(p, "")
}

func TestStopDisturbsNoOtherProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	stopped, other := w.program(script("stopped", `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; cat >/dev/null; exit 7`)), w.program(script("other", serving))
	one, two := w.acquire(stopped, ""), w.acquire(other, "")
	failed := make(chan error, 1)
	go func() {
		_, err := one.Conn().Call(t.Context(), "tools/call", []byte(`{}`), nil)
		failed <- err
	}()
	stopped.Stop()
	if err := <-failed; err == nil {
		t.Error("the call of a stopped program succeeded")
	}
	<-one.Done()
	w.untilProcesses(stopped, 0)
	if r := stopped.Record(); one.Exit() != "exit code 7" || r.LastExit != "exit code 7" || r.State != wire.StateStopped {
		t.Errorf("exit %s, record %+v", one.Exit(), r)
	}
	w.call(two)
}

func TestClose(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p, tidy := w.program(script("s", serving)), w.program(script("tidy", serving+`; sleep 0.3; exit 7`))
	one := w.acquire(p, "")
	w.acquire(tidy, "")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.Close(context.Background())
	}()
	w.until("the end of new calls", func() bool {
		_, err := p.Acquire(done(), "other")
		return err != nil && err.Error() == "The runner is ending"
	})
	w.call(one)
	one.Release()
	<-closed
	tidy.Close(done()) // it ends in its own time, although a call is in flight
	if r := tidy.Record(); r.Processes != 0 || r.LastExit != "exit code 7" {
		t.Errorf("after the end: %+v", r)
	}
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	const prints = `echo "$GATEWAY_RUNNER" >&2; ` + serving
	one, two := w.program(script("one", prints)), w.program(script("two", prints))
	w.acquire(one, "")
	w.acquire(two, "")
	w.until("first marker", hasLine(one, w.runner+".1"))
	w.until("second marker", hasLine(two, w.runner+".2"))
	if _, found := os.LookupEnv("GATEWAY_RUNNER"); found {
		t.Error("the marker is in the runner's environment")
	}
}
