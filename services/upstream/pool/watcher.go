package pool

import (
	"context"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
	"mcpgateway/services/upstream/transport"
)

// watcher receives the notifications of one upstream.
type watcher struct {
	pool    *Pool
	account *account
	target  *upstream.Target
	wake    chan struct{} // capacity 1; signals a change of the server's sessions or resources

	mu     sync.Mutex
	events func(upstream.Event) // nil after the watch has ended

	// The following fields are used only by the goroutine that runs the watch.
	session             *session // the latest watched session
	transport.GetStream          // state of that session's stream; its backoff applies to all streams
	everOpen            bool
	quiet               string // the wish for which a stateless upstream offers no stream
}

func (w *watcher) emit(e upstream.Event) {
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

// attend watches the gateway's own session until its stream ends. It starts the
// session if there is none. It returns the delay before the next attempt.
func (w *watcher) attend(ctx context.Context) time.Duration {
	ss, err := w.account.acquire(ctx, w.target, gatewaySessionKey(), nil)
	if err != nil {
		return w.BackOff()
	}
	defer w.account.release(ss)
	if ss != w.session {
		w.session, w.Opened, w.LastID = ss, false, ""
		if !ss.stateless {
			w.account.subscribeAgain()
		}
	}
	switch t := ss.transport.(type) {
	case *transport.LegacySSE:
		return w.attendShared(ctx, ss, t)
	case *transport.Streamable:
		if ss.stateless {
			return w.attendStateless(ctx, ss, t)
		}
		return w.attendSession(ctx, ss, t)
	}
	return transport.NoTimeout
}

// rest waits for the given time, or until there is a new session to watch. It
// reports whether the watch continues.
func (w *watcher) rest(ctx context.Context, wait time.Duration) bool {
	var timer <-chan time.Time
	if wait != transport.NoTimeout {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	for {
		present, over := w.account.present(w.target)
		switch {
		case over || ctx.Err() != nil:
			return false
		case present != nil && w.needsStream(present, wait == transport.NoTimeout):
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

// needsStream reports whether a session needs a new stream while the watch waits. A
// stateless session is often replaced by an identical one.
func (w *watcher) needsStream(present *session, quiet bool) bool {
	if !quiet || w.session == nil || !w.session.stateless || !present.stateless {
		return present != w.session
	}
	wish := w.account.wish(present.about, nil, false)
	return wish.key != "" && (wish.key != w.quiet || !present.about.IsSame(w.session.about))
}

// open records that a stream is open. After a gap it reports every subscribed
// resource as updated, because notifications may have been missed.
func (w *watcher) open() {
	w.Opened = true
	w.account.server.breaker.Record(nil, admission.OutcomeAnswered, nil)
	w.emit(upstream.Event{})
	if w.everOpen {
		for _, uri := range w.account.subscribedURIs() {
			w.emit(upstream.Event{Method: upstream.ResourceUpdated, Params: append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')})
		}
	}
	w.everOpen = true
}

// attendShared waits for the end of an HTTP+SSE session, whose transport reads
// its only stream.
func (w *watcher) attendShared(ctx context.Context, ss *session, l *transport.LegacySSE) time.Duration {
	began := time.Now()
	w.open()
	select {
	case <-l.Done:
		w.account.discard(ss, sessionExpired)
	case <-ss.inUse.Done():
	case <-ctx.Done():
	}
	return w.Again(false, time.Since(began), 0)
}

// attendSession reads the GET stream of a session.
func (w *watcher) attendSession(ctx context.Context, ss *session, s *transport.Streamable) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ss.inUse, cancel)()
	header, err := ss.requestHeader(ctx)
	if err != nil {
		return w.BackOff()
	}
	x := &transport.Exchange{Header: header, Heard: ss.onNotification, Notify: ss.callers.Deliver, Serve: transport.AnswerWithoutClient}
	wait, over := w.Read(ctx, s, x, func(resumed bool) {
		if !resumed {
			w.open()
		}
	})
	if over {
		w.account.discard(ss, sessionExpired)
	}
	return wait
}
