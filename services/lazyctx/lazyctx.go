// Package lazyctx has contexts for short work. They end as those of package
// context do, but cost no timer, no channel and no entry at their parent until
// somebody waits for them, which few calls do.
package lazyctx

import (
	"context"
	"sync"
	"time"
)

// Context is a context.Context of WithCancel or WithDeadline.
type Context struct {
	parent   context.Context
	deadline time.Time // zero without one of its own

	mu       sync.Mutex
	err      error // once it is known to have ended
	over     bool  // Cancel was called
	full     context.Context
	cancel   context.CancelFunc // of full
	watches  *Watch             // the latest first
	upstairs Watch              // of the parent, when there are watches
	watching bool               // upstairs is begun
}

// WithCancel returns a context that ends with its parent, or when Cancel is
// called, which must be done once the work is over.
func WithCancel(parent context.Context) *Context { return &Context{parent: parent} }

// WithDeadline returns a context that ends at a time too. Cancel must be called
// once the work is over.
func WithDeadline(parent context.Context, deadline time.Time) *Context {
	if earlier, ok := parent.Deadline(); ok && earlier.Before(deadline) {
		return WithCancel(parent) // which says itself when that is over
	}
	return &Context{parent: parent, deadline: deadline}
}

// Deadline is of context.Context.
func (c *Context) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() {
		return c.parent.Deadline()
	}
	return c.deadline, true
}

// Done is of context.Context. From the first call on, the context costs what
// others do.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full == nil {
		if c.deadline.IsZero() {
			c.full, c.cancel = context.WithCancel(c.parent)
		} else {
			c.full, c.cancel = context.WithDeadline(c.parent, c.deadline)
		}
		if c.over {
			c.cancel()
		}
	}
	return c.full.Done()
}

// Err is of context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended()
}

// ended returns the error of Err. The caller holds the mutex.
func (c *Context) ended() error {
	switch {
	case c.err != nil:
	case c.full != nil:
		c.err = c.full.Err()
	case c.parent.Err() != nil:
		c.err = c.parent.Err()
	case !c.deadline.IsZero() && time.Until(c.deadline) <= 0:
		c.err = context.DeadlineExceeded
	}
	return c.err
}

// Value is of context.Context.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	full := c.full
	c.mu.Unlock()
	if full != nil { // by a value of its own package context knows its contexts
		return full.Value(key)
	}
	return c.parent.Value(key)
}

// Cancel ends the context. Further calls do nothing. Of a context that had ended
// before, which nobody saw, Err may say from now on that it was cancelled.
func (c *Context) Cancel() {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.over = true
	if c.full != nil {
		_ = c.ended() // for c.err, before cancel says another
		c.cancel()
	}
	if c.err == nil {
		c.err = context.Canceled
	}
	watches, watching := c.watches, c.watching
	c.watches = nil
	for w := watches; w != nil; w = w.next {
		w.gone = true
	}
	c.mu.Unlock()
	if watching {
		c.upstairs.Stop()
	}
	for w := watches; w != nil; w = w.next {
		go w.act()
	}
}

// begin notes a watch.
func (c *Context) begin(w *Watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		w.gone = true
		go w.act()
		return
	}
	if !c.watching && !endless(c.parent) {
		c.watching = true
		c.upstairs.child = c
		c.upstairs.begin(c.parent)
	}
	w.next, c.watches = c.watches, w
}

// endless reports whether a context never ends.
func endless(ctx context.Context) bool {
	if _, ok := ctx.(*Context); ok {
		return false
	}
	return ctx.Done() == nil
}

// Watch calls a function when a context is cancelled. It is used from one
// goroutine and not copied. It may begin again when Stop returned true.
type Watch struct {
	call  func()
	child *Context    // is cancelled instead
	stop  func() bool // for contexts of package context

	at   *Context
	next *Watch
	gone bool // it was called or stopped; guarded by at.mu
}

// Begin has f called in a goroutine of its own once ctx is cancelled. Unlike
// context.AfterFunc it does not look at the deadline of a Context: f need not be
// called when that passes. It is for work that minds deadlines by itself.
func (w *Watch) Begin(ctx context.Context, f func()) {
	*w = Watch{call: f}
	w.begin(ctx)
}

func (w *Watch) begin(ctx context.Context) {
	if c, ok := ctx.(*Context); ok {
		w.at = c
		c.begin(w)
	} else if ctx.Done() != nil {
		w.stop = context.AfterFunc(ctx, w.act)
	}
}

// act does what the watch is for.
func (w *Watch) act() {
	if w.child != nil {
		w.child.Cancel()
		return
	}
	w.call()
}

// Stop ends the watch. It returns false when f was called already.
func (w *Watch) Stop() bool {
	if w.at == nil {
		return w.stop == nil || w.stop()
	}
	w.at.mu.Lock()
	defer w.at.mu.Unlock()
	if w.gone {
		return false
	}
	w.gone = true
	for at := &w.at.watches; *at != nil; at = &(*at).next {
		if *at == w {
			*at = w.next
			break
		}
	}
	return true
}
