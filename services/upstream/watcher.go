package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"mcpgateway/services/fault"
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
	session  *session // the latest that was attended to
	opened   bool     // a stream of that session was open
	lastID   string   // of the last event of that session
	everOpen bool
	failures int    // in a row
	quiet    string // the wish that a stateless upstream has no stream for
}

// forever is how long to wait for an upstream that has nothing to say.
const forever time.Duration = -1

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
	return wish.key != "" && (wish.key != w.quiet || !present.about.same(w.session.about))
}

// same reports whether two descriptions are of the same server program.
func (d *Description) same(other *Description) bool {
	return string(d.ServerInfo) == string(other.ServerInfo) && string(d.Capabilities) == string(other.Capabilities)
}

// backOff returns how long to wait after a failure.
func (w *watcher) backOff() time.Duration {
	wait := min(defaultRetryTime<<min(w.failures, 10), maxWatchRetryTime)
	w.failures++
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}

// again returns how long to wait behind the end of a stream. One that brought
// something or held for a while is no failure.
func (w *watcher) again(spoke bool, lived, retry time.Duration) time.Duration {
	if !spoke && lived < steadyTime {
		return w.backOff()
	}
	w.failures = 0
	return max(retry, defaultRetryTime)
}

// open notes that a stream is open. Behind a gap, what may have been missed
// is told again.
func (w *watcher) open() {
	w.opened = true
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
	configured, err := ss.target.headers(ctx)
	if err != nil {
		return w.backOff()
	}
	began, resumed := time.Now(), w.lastID != ""
	x := &exchange{header: requestHeader(configured, ss.header), heard: ss.heard}
	end := s.listen(ctx, x, w.lastID, func() {
		began = time.Now()
		if resumed {
			w.opened = true
		} else {
			w.open()
		}
	})
	if end.lastID != "" {
		w.lastID = end.lastID
	}
	var away *refusal
	switch {
	case ctx.Err() != nil:
	case errors.As(end.err, &away) && resumed && away.status == http.StatusBadRequest:
		w.lastID = "" // it does not know the event any more
	case fault.Is(end.err, fault.CodeUpstreamInvalidResponse) && end.opened:
		w.lastID = "" // what cannot be read need not come again
	case end.isRefused() && w.opened && s.session:
		// It had a stream and now knows nothing of it, so it was restarted.
		w.server.discard(ss, sessionOver)
		return 0
	case end.isRefused() && !w.opened:
		return forever
	}
	return w.again(end.spoke, time.Since(began), end.retry)
}
