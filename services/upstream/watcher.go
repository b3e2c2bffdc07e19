package upstream

import (
	"context"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
)

// watcher hears what one upstream says on its own.
type watcher struct {
	pool   *Pool
	server *server
	target *Target
	wake   chan struct{} // holds one when the server's sessions or resources changed

	mu     sync.Mutex
	events func(Event) // nil when the watch is over

	// What follows belongs to the goroutine that runs the watch.
	session   *session // the latest that was attended to
	getStream          // of that session; its pace is that of every stream
	everOpen  bool
	quiet     string // the wish that a stateless upstream has no stream for
}

func (w *watcher) tell(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events != nil {
		w.events(e)
	}
}

func (w *watcher) run(ctx context.Context) {
	for {
		if wait := w.attend(ctx); !w.rest(ctx, wait) {
			return
		}
	}
}

// attend hears the gateway's own session, which it begins when there is none,
// for as long as that goes on. It returns how long to wait before the next
// attempt.
func (w *watcher) attend(ctx context.Context) time.Duration {
	ss, err := w.server.acquire(ctx, w.target, own())
	if err != nil {
		return w.backOff()
	}
	defer w.server.release(ss)
	if ss != w.session {
		w.session, w.opened, w.lastID = ss, false, ""
		if !ss.stateless {
			w.server.subscribeAgain()
		}
	}
	switch t := ss.transport.(type) {
	case *legacySSE:
		return w.attendShared(ctx, ss, t)
	case *streamable:
		if ss.stateless {
			return w.attendStateless(ctx, ss, t)
		}
		return w.attendSession(ctx, ss, t)
	}
	return forever
}

// rest waits, for less time when there is a new session to attend to. It
// reports whether the watch goes on.
func (w *watcher) rest(ctx context.Context, wait time.Duration) bool {
	var timer <-chan time.Time
	if wait != forever {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	for {
		present, over := w.server.present(w.target)
		switch {
		case over || ctx.Err() != nil:
			return false
		case present != nil && w.isNews(present, wait == forever):
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-timer:
			return true
		case <-w.wake:
		}
	}
}

// isNews reports whether a session is worth attending to while the watch
// rests. That of a stateless upstream is often renewed without being another.
func (w *watcher) isNews(present *session, quiet bool) bool {
	if !quiet || w.session == nil || !w.session.stateless || !present.stateless {
		return present != w.session
	}
	wish := w.server.wish(present.about, nil, false)
	return wish.key != "" && (wish.key != w.quiet || !isSameServer(present.about, w.session.about))
}

// isSameServer reports whether two descriptions are of the same server program.
func isSameServer(a, b *Description) bool {
	return string(a.ServerInfo) == string(b.ServerInfo) && string(a.Capabilities) == string(b.Capabilities)
}

// open notes that a stream is open. Behind a gap, what may have been missed
// is told again.
func (w *watcher) open() {
	w.opened = true
	w.server.breaker.exited(nil, outcomeAnswered, nil)
	w.tell(Event{})
	if w.everOpen {
		for _, uri := range w.server.subscribedURIs() {
			w.tell(Event{Method: ResourceUpdated, Params: append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')})
		}
	}
	w.everOpen = true
}

// attendShared waits for the end of an HTTP+SSE session, whose only stream is
// read by its transport.
func (w *watcher) attendShared(ctx context.Context, ss *session, l *legacySSE) time.Duration {
	began := time.Now()
	w.open()
	select {
	case <-l.done:
		w.server.discard(ss, sessionOver)
	case <-ss.inUse.Done():
	case <-ctx.Done():
	}
	return w.again(false, time.Since(began), 0)
}

// attendSession reads the GET stream of a session.
func (w *watcher) attendSession(ctx context.Context, ss *session, s *streamable) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ss.inUse, cancel)()
	header, err := ss.requestHeader(ctx)
	if err != nil {
		return w.backOff()
	}
	x := &exchange{header: header, heard: ss.heard, notify: ss.callers.deliver, serve: answerWithoutClient}
	wait, over := w.read(ctx, s, x, func(resumed bool) {
		if !resumed {
			w.open()
		}
	})
	if over {
		w.server.discard(ss, sessionOver)
	}
	return wait
}
