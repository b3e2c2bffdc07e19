package pool

import (
	"context"
	"maps"
	"slices"
	"time"

	"mcpgateway/services/upstream"
)

// Watch reports the notifications of an upstream until ctx is cancelled. In
// revisions with a handshake it reads the GET stream of the gateway's own
// session (MCP 2025-03-26, "Listening for Messages from the Server"). In
// revision 2026-07-28 it reads a subscriptions/listen stream for the offered
// list changes and the subscribed resources. It also reports notifications on
// the streams of calls.
//
// Watch reopens a stream that ended, with exponential backoff on failure. If an
// upstream has no such stream, Watch retries only in the next session. It calls
// events from several goroutines, but never concurrently and never after it has
// returned. events must not block. Watch also returns when the pool is closed,
// the server is dropped, or a target of a higher version is used.
func (p *Pool) Watch(ctx context.Context, t *upstream.Target, events func(upstream.Event)) {
	s := p.server(t)
	if s == nil {
		return // a target without an ID has no shared sessions
	}
	ctx, leave, ok := p.join(ctx)
	if !ok {
		return
	}
	defer leave()
	w := &watcher{pool: p, server: s, target: t, wake: make(chan struct{}, 1), events: events}
	s.mu.Lock()
	s.watchers[w] = true
	s.mu.Unlock()
	defer s.unwatch(w)
	w.run(ctx)
}

// join registers the caller as work that Close waits for. The returned context
// is cancelled by Close. join returns false if the pool is closed.
func (p *Pool) join(ctx context.Context) (joined context.Context, leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, false
	}
	p.work.Add(1)
	joined, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.life, cancel)
	return joined, func() { stop(); cancel(); p.work.Done() }, true
}

// unwatch removes a watcher. If it was the last one, pending subscriptions
// count as accepted, and the next watcher requests them.
func (s *server) unwatch(w *watcher) {
	s.mu.Lock()
	delete(s.watchers, w)
	if len(s.watchers) == 0 {
		for uri, r := range s.resources {
			if !s.settling[uri] {
				r.accept()
			}
		}
	}
	s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = nil
}

// notifyWatchers notifies the watchers of a notification that concerns more than one
// call.
func (s *server) notifyWatchers(method string, params []byte) {
	s.lastNotification.Store(time.Now().UnixNano())
	switch method {
	case upstream.ToolsListChanged, upstream.PromptsListChanged, upstream.ResourcesListChanged, upstream.ResourceUpdated:
	default:
		return
	}
	s.mu.Lock()
	watchers := slices.Collect(maps.Keys(s.watchers))
	s.mu.Unlock()
	for _, w := range watchers {
		w.emit(upstream.Event{Method: method, Params: params})
	}
}

// wakeWatchers signals the watchers to check the state of the server again. The
// caller must hold mu.
func (s *server) wakeWatchers() {
	for w := range s.watchers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// present returns the gateway's own session or nil. It also reports whether the
// target is permanently replaced or dropped.
func (s *server) present(t *upstream.Target) (ss *session, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped || t.Version < s.version {
		return nil, true
	}
	return s.find(gatewaySessionKey()), false
}
