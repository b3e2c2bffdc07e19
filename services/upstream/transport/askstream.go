package transport

import (
	"context"
	"net/http"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// askStream is the GET stream of a session whose clients accept questions or
// log messages. It serves the calls of the session, because some upstreams
// ask and log nowhere else in the middle of a call (MCP 2025-03-26, "Listening
// for Messages from the Server"). It is opened for the first call that can answer and held until
// there was none for a while; a new one for each call would be refused by
// upstreams that have not noticed the end of the last.
type askStream struct {
	inFlight
	transport *Streamable
	header    func(context.Context) (http.Header, error) // of the request that opens it
	deliver   func(method string, params []byte)         // takes what belongs to no call
	start     func(work func(life context.Context)) bool // runs work that the pool waits for

	// Guarded by the mutex of the calls.
	askable int   // calls in flight that need the stream
	held    *hold // nil when nothing is open or to be opened again
	idle    *time.Timer
	none    bool // the upstream has no such stream
	late    bool // the upstream did not answer an opening in time, so calls do not wait for it
	closed  bool
}

// hold is one time of holding the stream open.
type hold struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when nothing of it runs any more
	wake   chan struct{} // takes one when a call needs the stream

	// Guarded by the mutex of the calls.
	resting  bool          // it ended and is to be opened again
	answered chan struct{} // closed when the upstream answered the latest opening
	open     bool          // answered is closed
}

// NewAskStream returns the stream of the session over s. header returns the
// header of the request that opens it, deliver takes the notifications that
// belong to no call, and start runs work that ends with the pool, unless that
// is closed.
func NewAskStream(s *Streamable, calls Audience, header func(context.Context) (http.Header, error),
	deliver func(method string, params []byte), start func(work func(life context.Context)) bool) *askStream {
	return &askStream{inFlight: newInFlight(calls), transport: s, header: header, deliver: deliver, start: start}
}

// concerns reports whether a call is to be joined: where clients accept questions
// each is, because a question belongs to the only call in flight.
func (a *askStream) concerns(x *Exchange) bool {
	return !x.Aside && (a.Asked || x.Logs)
}

// needsStream reports whether the stream must be open for the call.
func (x *Exchange) needsStream() bool { return x.Serve != nil || x.Logs }

// join counts a call among those in flight. For one that can answer it opens
// the stream first and waits a moment for it. leave ends the part of the call,
// which ended with err, and returns when its notifications are passed on.
func (a *askStream) join(ctx context.Context, x *Exchange) (leave func(err error)) {
	w := &waiter{x: x, ctx: ctx}
	finish := func() {}
	if x.Serve != nil && x.Notify != nil && x.ProgressToken != nil {
		finish = w.passOn(a.transport.Tasks)
	}
	var opening <-chan struct{}
	a.mu.Lock()
	a.waiting[x.ID] = w
	if x.needsStream() {
		a.askable++
		opening = a.need()
	}
	a.mu.Unlock()
	a.await(ctx, opening)
	return func(err error) {
		a.mu.Lock()
		a.remove(w, err)
		if x.needsStream() {
			a.spare()
		}
		a.mu.Unlock()
		finish()
	}
}

// passOn passes on what comes for the call beside its own stream, one at a
// time with what comes there, until finish.
func (w *waiter) passOn(tasks *background.Tasks) (finish func()) {
	w.notices = make(chan wire.Message, maxNotices)
	var one sync.Mutex
	notify, passed := w.x.Notify, make(chan struct{})
	w.x.Notify = func(method string, params []byte) {
		one.Lock()
		defer one.Unlock()
		notify(method, params)
	}
	tasks.Go("notifications of a call", func() {
		defer close(passed)
		for m := range w.notices {
			w.x.pass(m)
		}
	})
	return func() {
		close(w.notices) // nobody finds the call any more
		<-passed
	}
}

// need makes the stream open, or open again, and returns what is closed when
// the upstream has answered; nil when that is not worth waiting for. The
// caller holds the mutex.
func (a *askStream) need() (opening <-chan struct{}) {
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
		h = &hold{cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1), answered: make(chan struct{})}
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

// spare counts one call less that can answer. The caller holds the mutex.
func (a *askStream) spare() {
	if a.askable--; a.askable > 0 || a.held == nil {
		return
	}
	if a.idle == nil {
		a.idle = time.AfterFunc(maxAskIdleTime, a.transport.Tasks.Func("idle upstream stream", a.expire))
	} else {
		a.idle.Reset(maxAskIdleTime)
	}
}

// expire ends the stream if it is not needed.
func (a *askStream) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.askable == 0 && a.held != nil {
		a.held.cancel()
		a.held = nil
	}
}

// await waits until the upstream has answered the opening, but not for long.
func (a *askStream) await(ctx context.Context, opening <-chan struct{}) {
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

// run holds the stream until its context ends or the upstream has none.
func (a *askStream) run(ctx context.Context, h *hold) {
	var g GetStream
	for {
		wait, over := a.listen(ctx, h, &g)
		if over || wait == Forever || !a.rest(ctx, h, wait) {
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == h {
		a.held = nil
	}
	h.answer()
}

// listen opens the stream and reads it to its end, as GetStream.Read.
func (a *askStream) listen(ctx context.Context, h *hold, g *GetStream) (wait time.Duration, over bool) {
	header, err := a.header(ctx)
	if err != nil {
		return g.BackOff(), false
	}
	x := &Exchange{Header: header, shared: &a.inFlight, Notify: func(method string, params []byte) {
		if method == upstream.Progress {
			a.progress(wire.Message{Method: method, Params: params})
			return
		}
		a.deliver(method, params)
	}}
	wait, over = g.Read(ctx, a.transport, x, func(bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		h.answer()
	})
	if wait == Forever && ctx.Err() == nil {
		a.mu.Lock()
		a.none, a.Mixed, a.strays = true, false, false // it can ask on the streams of calls only
		a.mu.Unlock()
	}
	return wait, over
}

// answer notes that the upstream has answered. The caller holds the mutex.
func (h *hold) answer() {
	if !h.open {
		h.open = true
		close(h.answered)
	}
}

// rest waits before the stream is opened again: until a call needs it, or only
// for a while when one is in flight. It reports whether to go on.
func (a *askStream) rest(ctx context.Context, h *hold, wait time.Duration) bool {
	var timer <-chan time.Time
	a.mu.Lock()
	h.answer()
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

// close ends the stream for good and waits until nothing of it runs.
func (a *askStream) close() {
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

// Hold counts a hold like a call that needs the stream.
func (a *askStream) Hold(held bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if held {
		a.askable++
		a.need()
	} else {
		a.spare()
	}
}
