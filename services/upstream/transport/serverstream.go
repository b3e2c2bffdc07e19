package transport

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// serverStream is the GET stream of a session whose clients accept server requests
// or log messages. Some upstreams send these only on the GET stream, even
// during a call (MCP 2025-03-26, "Listening for Messages from the Server"). The
// stream opens for the first call that needs it and stays open until no call
// has needed it for maxAskIdleTime. A new stream for each call would be
// rejected by upstreams that have not noticed the end of the previous one.
type serverStream struct {
	inFlight
	StreamEvents
	transport *Streamable
	start     func(work func(life context.Context)) bool // runs work that Pool.Close waits for
	holds     atomic.Int64

	// Guarded by inFlight.mu.
	askable int          // calls in flight that need the stream, and holds
	held    *streamLease // nil if no stream is open or will be reopened
	idle    *time.Timer
	none    bool // the upstream has no such stream
	late    bool // the upstream was slow to open the stream, so calls do not wait for it
	closed  bool
}

// StreamEvents are the functions of a session that its GET stream calls.
type StreamEvents struct {
	Header  func(context.Context) (http.Header, error) // returns the header of the request that opens it
	Heard   func(method string, params []byte)         // called first for every notification
	Deliver func(method string, params []byte)         // receives notifications that belong to no call
	Lost    func()                                     // called once the upstream has lost the session
}

// streamLease is one period in which the stream is held open.
type streamLease struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when its goroutine has returned
	wake   chan struct{} // capacity 1; signals that a call needs the stream

	// Guarded by inFlight.mu.
	resting  bool          // it ended and will be reopened
	answered chan struct{} // closed when the upstream has responded to the latest request
	open     bool          // whether the channel above is closed
}

// NewAskStream returns the stream of the session over s. start runs work until
// the pool is closed, and returns false if it is already closed.
func NewAskStream(s *Streamable, calls Audience, events StreamEvents, start func(work func(life context.Context)) bool) *serverStream {
	return &serverStream{inFlight: newInFlight(calls), transport: s, StreamEvents: events, start: start}
}

// concerns reports whether a call must join. If the clients accept server
// requests, every call must, because a server request is routed to the only
// call in flight.
func (a *serverStream) concerns(x *Exchange) bool {
	return !x.Aside && (a.Asked || x.Stream || a.holds.Load() > 0)
}

// needsStream reports whether the stream must be open for the call. While it is
// held, calls wait until it is open, because their messages arrive there.
func (a *serverStream) needsStream(x *Exchange) bool {
	return x.Serve != nil || x.Stream || a.holds.Load() > 0
}

// join registers a call in flight. If the call needs the stream, join opens it
// and waits briefly. The caller must call leave with the error of the call.
// leave returns after the call's notifications were forwarded.
func (a *serverStream) join(ctx context.Context, x *Exchange) (leave func(err error)) {
	w := &waiter{x: x, ctx: ctx}
	finish := func() {}
	if x.Serve != nil && x.Notify != nil && x.ProgressToken != nil {
		finish = w.forward(a.transport.Tasks)
	}
	var opening <-chan struct{}
	needed := a.needsStream(x)
	a.mu.Lock()
	a.waiting[x.ID] = w
	if needed {
		a.askable++
		opening = a.ensureOpen()
	}
	a.mu.Unlock()
	a.await(ctx, opening)
	return func(err error) {
		a.mu.Lock()
		a.remove(w, err)
		if needed {
			a.release()
		}
		a.mu.Unlock()
		finish()
	}
}

// forward forwards the notifications that arrive for the call outside its own
// stream, serialized with those on its stream, until finish is called.
func (w *waiter) forward(tasks *background.Tasks) (finish func()) {
	w.notices = make(chan wire.Message, maxNotices)
	var one sync.Mutex
	notify, passed := w.x.Notify, make(chan struct{})
	w.x.Notify = func(method string, params []byte) {
		one.Lock()
		defer one.Unlock()
		notify(method, params)
	}
	tasks.Go("call notifications", func() {
		defer close(passed)
		for m := range w.notices {
			w.x.pass(m)
		}
	})
	return func() {
		close(w.notices) // the call was removed, so there are no senders
		<-passed
	}
}

// ensureOpen opens or reopens the stream. It returns a channel that is closed when
// the upstream has responded, or nil if waiting is not useful. The caller must
// hold mu.
func (a *serverStream) ensureOpen() (opening <-chan struct{}) {
	if a.idle != nil {
		a.idle.Stop()
	}
	if a.none || a.closed {
		return nil
	}
	h := a.held
	switch {
	case h == nil:
		ctx, cancel := context.WithCancel(context.Background())
		h = &streamLease{cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1), answered: make(chan struct{})}
		started := a.start(func(life context.Context) {
			defer close(h.ended)
			defer cancel()
			defer context.AfterFunc(life, cancel)()
			a.run(ctx, h)
		})
		if !started {
			cancel()
			return nil
		}
		a.held = h
	case h.resting:
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
	if a.late {
		return nil
	}
	return h.answered
}

// release removes a call that needed the stream. The caller must hold mu.
func (a *serverStream) release() {
	if a.askable--; a.askable > 0 || a.held == nil {
		return
	}
	if a.idle == nil {
		a.idle = time.AfterFunc(maxAskIdleTime, a.transport.Tasks.Func("idle upstream stream", a.expire))
	} else {
		a.idle.Reset(maxAskIdleTime)
	}
}

// expire closes the stream if no call needs it.
func (a *serverStream) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.askable == 0 && a.held != nil {
		a.held.cancel()
		a.held = nil
	}
}

// await waits until the upstream has responded, for at most maxAskWait.
func (a *serverStream) await(ctx context.Context, opening <-chan struct{}) {
	if opening == nil {
		return
	}
	timer := time.NewTimer(maxAskWait)
	defer timer.Stop()
	select {
	case <-opening:
	case <-ctx.Done():
	case <-timer.C:
		a.mu.Lock()
		a.late = true
		a.mu.Unlock()
	}
}

// run reopens the stream until ctx is cancelled or the upstream has no such
// stream.
func (a *serverStream) run(ctx context.Context, h *streamLease) {
	var g GetStream
	for {
		wait, over := a.listen(ctx, h, &g)
		if over {
			a.Lost()
		}
		if over || wait == NoTimeout || !a.backOff(ctx, h, wait) {
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == h {
		a.held = nil
	}
	h.markResponded()
}

// listen opens the stream and reads it to its end. The results are those of
// GetStream.Read.
func (a *serverStream) listen(ctx context.Context, h *streamLease, g *GetStream) (wait time.Duration, over bool) {
	header, err := a.Header(ctx)
	if err != nil {
		return g.BackOff(), false
	}
	x := &Exchange{Header: header, shared: &a.inFlight, Heard: a.Heard, Notify: func(method string, params []byte) {
		if method == upstream.Progress {
			a.progress(wire.Message{Method: method, Params: params})
			return
		}
		a.Deliver(method, params)
	}}
	wait, over = g.Read(ctx, a.transport, x, func(bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		h.markResponded()
	})
	if wait == NoTimeout && ctx.Err() == nil {
		a.mu.Lock()
		a.none, a.Mixed, a.strays = true, false, false // server requests can arrive only on the streams of calls
		a.mu.Unlock()
	}
	return wait, over
}

// markResponded records that the upstream has responded. The caller must hold mu.
func (h *streamLease) markResponded() {
	if !h.open {
		h.open = true
		close(h.answered)
	}
}

// backOff waits until a call needs the stream. If one is in flight, it waits at
// most for the given time. It reports whether to reopen the stream.
func (a *serverStream) backOff(ctx context.Context, h *streamLease, wait time.Duration) bool {
	var timer <-chan time.Time
	a.mu.Lock()
	h.markResponded()
	h.resting, h.open, h.answered = true, false, make(chan struct{})
	if a.askable > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	a.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-timer:
	case <-h.wake:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	h.resting = false
	select {
	case <-h.wake:
	default:
	}
	return ctx.Err() == nil
}

// close closes the stream permanently and waits for its goroutine.
func (a *serverStream) close() {
	a.mu.Lock()
	a.closed = true
	if a.idle != nil {
		a.idle.Stop()
	}
	h := a.held
	a.mu.Unlock()
	if h != nil {
		h.cancel()
		<-h.ended
	}
}

// Hold adds or removes a hold, which counts like a call that needs the stream.
func (a *serverStream) Hold(held bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if held {
		a.holds.Add(1)
		a.askable++
		a.ensureOpen()
	} else {
		a.holds.Add(-1)
		a.release()
	}
}
