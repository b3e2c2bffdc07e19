//go:build linux || darwin

package supervise_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/supervise"
	"mcpgateway/services/runners/wire"
)

func atMost(processes int) func(*entry.Entry) {
	return func(e *entry.Entry) { e.MaxProcesses = processes }
}

func isDone(p *supervise.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func TestLongestIdleMakesRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p := w.program(script("s", serving, atMost(3)))
	a, b, listing := w.acquire(p, "a"), w.acquire(p, "b"), w.acquire(p, "")
	w.refused(p, "c", "All its processes are in use (3)")
	b.Release()
	w.advance(time.Second)
	a.Release()
	w.advance(time.Second)
	listing.Release()
	c := w.acquire(p, "c") // the one without a key makes room first
	if !isDone(listing) || isDone(a) || isDone(b) {
		t.Error("another process made room first")
	}
	d := w.acquire(p, "d")
	if !isDone(b) || isDone(a) {
		t.Error("not the longest idle process made room")
	}
	if r := p.Record(); r.Processes != 3 || r.Restarts != 0 {
		t.Errorf("record %+v", r)
	}
	w.call(c)
	w.call(d)
	c.Release()
	p.Update(script("s", serving, atMost(1)))
	<-a.Done()
	<-c.Done()
	w.call(d)
	w.untilProcesses(p, 1)
	w.refused(p, "e", "All its processes are in use (1)")
}

func TestIdleProcessesEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p, kept := w.program(script("s", serving, idleAfter(10*time.Second))), w.program(script("kept", serving, idleAfter(0)))
	one, two := w.acquire(p, "a"), w.acquire(p, "b")
	w.acquire(kept, "").Release()
	one.Release()
	w.advance(9 * time.Second)
	again := w.acquire(p, "a")
	if again != one {
		t.Fatal("it ended too early")
	}
	again.Release()
	w.advance(9 * time.Second)
	if isDone(one) {
		t.Error("it ended too early after its use")
	}
	w.advance(3 * time.Second) // with the check every 2 s
	<-one.Done()
	w.call(two)
	two.Release()
	w.advance(12 * time.Second)
	w.untilProcesses(p, 0)
	wantMessage(t, p, wire.StateStopped, "")
	wantMessage(t, kept, wire.StateRunning, "")
	w.acquire(p, "") // the next call starts it
	if r := p.Record(); r.Starts != 3 || r.Restarts != 0 {
		t.Errorf("record %+v", r)
	}
}

func TestProcessesOfTheRunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	p, other, third := w.program(script("p", serving)), w.program(script("other", serving)), w.program(script("third", serving))
	one, two := w.acquire(p, ""), w.acquire(other, "")
	w.refused(third, "", "All processes of the runner are in use (2)")
	wantMessage(t, third, wire.StateStopped, "")
	one.Release()
	w.advance(time.Second)
	two.Release()
	three := w.acquire(third, "")
	if !isDone(one) || isDone(two) {
		t.Error("not the longest idle process made room")
	}
	w.call(three)
	always := w.program(script("always", serving, eager))
	always.Run(t.Context())
	<-two.Done()
	w.untilState(always, wire.StateRunning)
	w.refused(p, "", "All processes of the runner are in use (2)") // eager programs make no room
	late := w.program(script("late", serving, eager))
	late.Run(t.Context())
	w.untilState(late, wire.StateBackoff)
	wantMessage(t, late, wire.StateBackoff, "All processes of the runner are in use (2), again in 1 s")
	three.Release()
	w.advance(time.Second)
	w.untilState(late, wire.StateRunning)
}

func TestStartsAtOnce(t *testing.T) {
	t.Parallel()
	w, gate := newWorld(t, 0), make(chan struct{})
	var open atomic.Int64
	var programs []*supervise.Program
	var callers sync.WaitGroup
	for i := range wire.MaxStarts + 2 {
		p := w.program(script(fmt.Sprint(i), serving), gated(gate, func() { open.Add(1) }))
		programs = append(programs, p)
		callers.Go(func() { w.acquire(p, "") })
	}
	started := func() (n int64) {
		for _, p := range programs {
			n += p.Record().Starts
		}
		return n
	}
	w.until("starts", func() bool { return open.Load() == wire.MaxStarts })
	for _, p := range programs {
		w.untilState(p, wire.StateStarting)
	}
	if n := started(); n != wire.MaxStarts {
		t.Errorf("%d starts at once", n)
	}
	gate <- struct{}{}
	w.until("the next start", func() bool { return open.Load() == wire.MaxStarts+1 })
	close(gate)
	callers.Wait()
	if n := started(); n != wire.MaxStarts+2 {
		t.Errorf("%d starts", n)
	}
}

func TestCallsOfAProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p := w.program(script("s", serving))
	one := w.acquire(p, "")
	for range wire.MaxCalls - 1 {
		w.acquire(p, "")
	}
	w.refused(p, "", "64 calls are in flight")
	one.Release()
	w.acquire(p, "")
	w.refused(p, "", "64 calls are in flight")
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	// The memory is that of a child.
	p := w.program(script("grows", `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'
(x=$(head -c 60000000 /dev/zero | tr '\0' x); echo grown >&2; sleep 100; echo done) & cat >/dev/null`, func(e *entry.Entry) { e.Memory = 40 }))
	small := w.program(script("small", serving, func(e *entry.Entry) { e.Memory = 40 }))
	one, two := w.acquire(p, ""), w.acquire(small, "")
	w.until("growth", hasLine(p, "grown"))
	w.advance(2 * time.Second)
	w.until("the end", func() bool { return isDone(one) && p.Record().State != wire.StateRunning })
	wantMessage(t, p, wire.StateBackoff, "Ended (memory above 40 MiB), again in 1 s")
	w.call(two)
	w.advance(0)
	if r := small.Record(); r.State != wire.StateRunning || r.Memory <= 0 || r.Memory > 40<<20 {
		t.Errorf("record %+v", r)
	}
}

func TestRequestsWithoutAPeer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	p := w.program(script("asks", `echo '{"jsonrpc":"2.0","id":"a","method":"roots/list"}'; read -r line; echo "$line" >&2; `+serving), func(o *supervise.Options) {
		o.Open = func(context.Context, *supervise.Process, string) error { return nil }
	})
	w.acquire(p, "")
	w.until("the response", hasLine(p, `"id":"a","error":{"code":-32601`))
}
