package pool_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
)

// crowd is a way whose calls end one at a time, by the caller that sent them.
type crowd struct {
	*way
	pool    *pool.Pool
	to      *upstream.Target
	proceed chan struct{}
	cancel  context.CancelFunc
	ctx     context.Context
	all     sync.WaitGroup

	mu      sync.Mutex
	refused map[string]int
	sent    []string // callers, in the order of their calls
}

func newCrowd(t *testing.T, atOnce int) *crowd {
	w, p, to, end := newWay()
	c := &crowd{way: w, pool: p, to: to, proceed: make(chan struct{}), refused: map[string]int{}}
	mustCall(t, p, to, echo("well"))
	to.MaxConcurrent, to.Timeout = atOnce, time.Hour
	to.Version++
	c.ctx, c.cancel = context.WithCancel(t.Context())
	to.Headers = func(ctx context.Context) (http.Header, error) {
		caller, _ := ctx.Value(callerKey{}).(string)
		return http.Header{"X-Caller": {caller}}, nil
	}
	w.breaks(func(r *http.Request) error {
		if r.Header.Get("X-Caller") == "" || r.Header.Get("Mcp-Method") != "tools/call" {
			return nil
		}
		c.mu.Lock()
		c.sent = append(c.sent, r.Header.Get("X-Caller"))
		c.mu.Unlock()
		select {
		case <-c.proceed:
			return nil
		case <-r.Context().Done():
			return r.Context().Err()
		}
	})
	t.Cleanup(func() {
		c.cancel()
		c.all.Wait()
		end()
	})
	return c
}

type callerKey struct{}

// call starts calls in the background.
func (c *crowd) call(caller string, calls int) {
	for range calls {
		c.all.Go(func() {
			r := echo("x")
			r.Client.Caller = caller
			_, err := c.pool.Call(context.WithValue(c.ctx, callerKey{}, caller), c.to, r)
			if fault.Is(err, fault.CodeUpstreamUnavailable) {
				c.mu.Lock()
				c.refused[caller]++
				c.mu.Unlock()
			}
		})
		synctest.Wait()
	}
}

// end ends one call and returns the callers of those that were sent then.
func (c *crowd) end() []string {
	before := len(c.sent)
	c.proceed <- struct{}{}
	synctest.Wait()
	return c.sent[before:]
}

// TestCallerCannotFillQueue fills the queue of a server with the calls of one
// caller. The call of another caller must be sent next or after the next one.
func TestCallerCannotFillQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2)
		c.call("greedy", 2000)
		if got, want := c.refused["greedy"], 2000-2-waiting; got != want {
			t.Errorf("%d of 2000 calls were rejected, want %d", got, want)
		}
		c.call("modest", 1)
		if c.refused["modest"] != 0 || c.refused["greedy"] != 2000-2-waiting+1 {
			t.Errorf("rejected %v, want the latest call of the caller with the most calls", c.refused)
		}
		if got := append(c.end(), c.end()...); fmt.Sprint(got) != "[greedy modest]" {
			t.Errorf("next callers = %v", got)
		}
		if h := c.pool.Health("srv"); h.Active != 2 || h.Waiting != waiting-2 {
			t.Errorf("Active = %d, Waiting = %d", h.Active, h.Waiting)
		}
	})
}

func TestQueueIsRoundRobin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		c.call("a", 5)
		c.call("b", 3)
		c.call("c", 1)
		var order []string
		for range 8 {
			order = append(order, c.end()...)
		}
		if got := fmt.Sprint(order); got != "[a b c a b a b a]" {
			t.Errorf("order of callers = %s", got)
		}
	})
}

// TestCallersShareQueue has two callers that together exceed the queue.
func TestCallersShareQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		c.call("a", 1+waiting)
		c.call("b", waiting)
		if a, b := c.refused["a"], c.refused["b"]; a != waiting/2 || b != waiting/2 {
			t.Errorf("%d and %d calls were rejected, want %d each", a, b, waiting/2)
		}
	})
}

func TestMaxConcurrent(t *testing.T) {
	for limit, want := range map[int]int64{0: 512, 1: 1, 2: 2, 4095: 4095, 4096: 4096} {
		synctest.Test(t, func(t *testing.T) {
			w, p, to, end := newWay()
			defer end()
			to.MaxConcurrent, to.Timeout = limit, time.Minute
			mustCall(t, p, to, echo("well"))
			w.breaks(hangs)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range want + 1 {
				all.Go(func() { _, _ = p.Call(ctx, to, echo("x")) })
			}
			synctest.Wait()
			if h := p.Health("srv"); w.tries.Load() != want || int64(h.Active) != want || h.Waiting != 1 {
				t.Errorf("limit %d: %d calls were sent, %d wait", limit, w.tries.Load(), h.Waiting)
			}
			cancel()
			all.Wait()
		})
	}
}

// TestMaxConcurrentChanges raises and lowers the limit of a server in use.
func TestMaxConcurrentChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		c.call("a", 10)
		higher := *c.to
		higher.MaxConcurrent, higher.Version = 4, c.to.Version+1
		c.to = &higher
		c.call("a", 1)
		if h := c.pool.Health("srv"); h.Active != 4 || h.Waiting != 7 {
			t.Errorf("higher limit: Active = %d, Waiting = %d, want 4 and 7", h.Active, h.Waiting)
		}
		lower := higher
		lower.MaxConcurrent, lower.Version = 2, higher.Version+1
		c.to = &lower
		c.call("a", 1)
		for active := range 2 {
			if c.end(); c.pool.Health("srv").Active != 3-active {
				t.Errorf("lower limit: Active = %d, want %d", c.pool.Health("srv").Active, 3-active)
			}
		}
		if c.end(); c.pool.Health("srv").Active != 2 {
			t.Errorf("Active = %d, want 2", c.pool.Health("srv").Active)
		}
	})
}

// TestCancelledQueuedCalls cancels waiting calls while others are admitted.
func TestCancelledQueuedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, to, end := newWay()
		defer end()
		to.MaxConcurrent = 3
		mustCall(t, p, to, echo("well"))
		var all sync.WaitGroup
		var answered atomic.Int64
		for i := range 200 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Millisecond)
				defer cancel()
				r := echo("x")
				r.Client.Caller = fmt.Sprint(i % 5)
				if _, err := p.Call(ctx, to, r); err == nil {
					answered.Add(1)
				}
			})
		}
		all.Wait()
		if h := p.Health("srv"); h.Active != 0 || h.Waiting != 0 {
			t.Errorf("after all calls: Active = %d, Waiting = %d", h.Active, h.Waiting)
		}
		if answered.Load() == 0 {
			t.Error("no call succeeded")
		}
	})
}
