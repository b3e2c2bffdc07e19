package lazyctx_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/lazyctx"
)

type key struct{}

// The contexts end for the same reasons and at the same times as those of
// package context, whoever looks at them.
func TestContextsEndAsOthersDo(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	for name, end := range map[string]struct {
		do   func(cancelParent, cancel func(), err func() error)
		want error
	}{
		"nothing":            {func(_, _ func(), _ func() error) {}, nil},
		"cancelled":          {func(_, cancel func(), _ func() error) { cancel() }, context.Canceled},
		"the parent is":      {func(cancelParent, _ func(), _ func() error) { cancelParent() }, context.Canceled},
		"just before":        {func(_, _ func(), _ func() error) { time.Sleep(limit - time.Nanosecond) }, nil},
		"the time is over":   {func(_, _ func(), _ func() error) { time.Sleep(limit) }, context.DeadlineExceeded},
		"late cancellation":  {func(_, cancel func(), err func() error) { time.Sleep(limit); synctest.Wait(); _ = err(); cancel() }, context.DeadlineExceeded},
		"cancelled and late": {func(_, cancel func(), _ func() error) { cancel(); time.Sleep(limit) }, context.Canceled},
	} {
		for _, waited := range []string{"nobody waits", "somebody waits before", "somebody waits behind"} {
			t.Run(name+", "+waited, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					parent, cancelParent := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
					defer cancelParent()
					middle := lazyctx.WithCancel(parent)
					defer middle.Cancel()
					c := lazyctx.WithDeadline(middle, time.Now().Add(limit))
					defer c.Cancel()
					if waited == "somebody waits before" {
						c.Done()
					}
					if at, ok := c.Deadline(); !ok || time.Until(at) != limit {
						t.Errorf("Deadline() = %v, %v", at, ok)
					}
					end.do(cancelParent, c.Cancel, c.Err)
					synctest.Wait()
					if waited == "nobody waits" && !errors.Is(c.Err(), end.want) || end.want == nil && c.Err() != nil {
						t.Errorf("Err() = %v, want %v", c.Err(), end.want)
					}
					select {
					case <-c.Done():
						if end.want == nil {
							t.Error("Done() is closed")
						}
					default:
						if end.want != nil {
							t.Error("Done() is open")
						}
					}
					if !errors.Is(c.Err(), end.want) {
						t.Errorf("behind Done Err() = %v, want %v", c.Err(), end.want)
					}
					if c.Value(key{}) != "value" {
						t.Errorf("Value() = %v", c.Value(key{}))
					}
				})
			})
		}
	}
}

func TestTheEarlierDeadlineHolds(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	want, _ := parent.Deadline()
	for name, limit := range map[string]time.Duration{"later": time.Hour, "much later": 24 * time.Hour} {
		c := lazyctx.WithDeadline(parent, time.Now().Add(limit))
		if at, _ := c.Deadline(); !at.Equal(want) {
			t.Errorf("%s: Deadline() = %v, want that of the parent, %v", name, at, want)
		}
		c.Cancel()
	}
	c := lazyctx.WithDeadline(parent, time.Now().Add(time.Millisecond))
	defer c.Cancel()
	if at, _ := c.Deadline(); !at.Before(want) {
		t.Errorf("Deadline() = %v, want an earlier one than %v", at, want)
	}
	plain := lazyctx.WithCancel(parent)
	defer plain.Cancel()
	if at, ok := plain.Deadline(); !ok || !at.Equal(want) {
		t.Errorf("Deadline() = %v, %v, want that of the parent", at, ok)
	}
}

// Contexts of package context that are made of these end with them, without a
// goroutine that waits for it.
func TestOthersEndWithThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := lazyctx.WithDeadline(t.Context(), time.Now().Add(time.Minute))
		child, cancel := context.WithCancel(c)
		defer cancel()
		c.Cancel()
		synctest.Wait()
		if !errors.Is(child.Err(), context.Canceled) {
			t.Errorf("Err() = %v", child.Err())
		}
		late := lazyctx.WithDeadline(t.Context(), time.Now().Add(time.Minute))
		defer late.Cancel()
		other, cancel := context.WithTimeout(late, time.Hour)
		defer cancel()
		time.Sleep(time.Minute)
		synctest.Wait()
		if !errors.Is(other.Err(), context.DeadlineExceeded) {
			t.Errorf("Err() = %v", other.Err())
		}
	})
}

// A watch is called once, however the context is cancelled and whatever the
// context is, and never behind a Stop that returned true.
func TestWatchesSeeCancellations(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(parent context.Context) (context.Context, func()){
		"own": func(parent context.Context) (context.Context, func()) {
			c := lazyctx.WithCancel(parent)
			return c, c.Cancel
		},
		"with time-out": func(parent context.Context) (context.Context, func()) {
			c := lazyctx.WithDeadline(parent, time.Now().Add(time.Hour))
			return c, c.Cancel
		},
		"of context": func(parent context.Context) (context.Context, func()) { return context.WithCancel(parent) },
		"in another": func(parent context.Context) (context.Context, func()) {
			outer := lazyctx.WithCancel(parent)
			return lazyctx.WithDeadline(outer, time.Now().Add(time.Hour)), outer.Cancel
		},
		"in one of context": func(parent context.Context) (context.Context, func()) {
			outer, cancel := context.WithCancel(parent)
			return lazyctx.WithDeadline(outer, time.Now().Add(time.Hour)), cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := make(context.Background())
				defer cancel()
				calls := 0
				var stopped, second, third lazyctx.Watch
				stopped.Begin(ctx, func() { t.Error("a watch was called that was stopped") })
				second.Begin(ctx, func() { calls++ })
				if !stopped.Stop() {
					t.Error("Stop() = false before the cancellation")
				}
				stopped.Begin(ctx, func() { t.Error("a watch was called that was stopped again") })
				if !stopped.Stop() {
					t.Error("a second Stop() = false before the cancellation")
				}
				cancel()
				synctest.Wait()
				cancel()
				synctest.Wait()
				if calls != 1 {
					t.Errorf("the watch was called %d times", calls)
				}
				if second.Stop() {
					t.Error("Stop() = true behind the call")
				}
				third.Begin(ctx, func() { calls++ })
				synctest.Wait()
				if calls != 2 {
					t.Error("a watch of a cancelled context was not called")
				}
			})
		})
	}
}

func TestWatchesOfWhatNeverEnds(t *testing.T) {
	t.Parallel()
	var w lazyctx.Watch
	w.Begin(context.Background(), func() { t.Error("called") })
	if !w.Stop() {
		t.Error("Stop() = false")
	}
}

func BenchmarkShortWork(b *testing.B) {
	for name, work := range map[string]func(){
		"lazyctx": func() {
			c := lazyctx.WithCancel(context.Background())
			limited := lazyctx.WithDeadline(c, time.Now().Add(time.Minute))
			var w lazyctx.Watch
			w.Begin(limited, func() {})
			w.Stop()
			limited.Cancel()
			c.Cancel()
		},
		"context": func() {
			c, cancel := context.WithCancel(context.Background())
			limited, cancelLimited := context.WithTimeout(c, time.Minute)
			context.AfterFunc(limited, func() {})()
			cancelLimited()
			cancel()
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				work()
			}
		})
	}
}
