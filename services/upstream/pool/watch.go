package pool

import (
	"context"
	"maps"
	"slices"
	"time"

	"mcpgateway/services/upstream"
)

// Watch passes on what the upstream says on its own until the context ends:
// one that has a handshake on the GET stream of the gateway's own session
// (MCP 2025-03-26, "Listening for Messages from the Server"), one of revision
// 2026-07-28 on a subscriptions/listen stream, for what its capabilities
// offer and clients subscribed to. What arrives on the streams of calls is
// passed on too. A stream that ends is opened again, less and less often while
// that fails; an upstream that has none is not asked again before it begins
// another session. events is called one at a time, from several goroutines; it
// must not block, and is not called any more once Watch has returned. Watch also returns when
// the pool is closed, when the server is dropped, and when a target of a
// higher version is used.
func (p *Pool) Watch(ctx context.Context, t *upstream.Target, events func(upstream.Event)) {
	s := p.server(t)
	if s == nil {
		return // of a target that is not kept there is nothing to hear
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

// join counts the caller among those that Close waits for. Its context ends
// with the pool. It reports false when the pool is closed.
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

// unwatch ends the part of a watcher. What it was to arrange for clients is
// arranged by the next one.
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

// heard tells the watchers of a notification that concerns more than a call.
func (s *server) heard(method string, params []byte) {
	s.lastHeard.Store(time.Now().UnixNano())
	switch method {
	case upstream.ToolsListChanged, upstream.PromptsListChanged, upstream.ResourcesListChanged, upstream.ResourceUpdated:
	default:
		return
	}
	s.mu.Lock()
	watchers := slices.Collect(maps.Keys(s.watchers))
	s.mu.Unlock()
	for _, w := range watchers {
		w.tell(upstream.Event{Method: method, Params: params})
	}
}

// wakeWatchers makes the watchers look at what there is now.
func (s *server) wakeWatchers() {
	for w := range s.watchers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// present returns the session that the gateway uses for itself, if there is
// one, and whether the target is over for good.
func (s *server) present(t *upstream.Target) (ss *session, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped || t.Version < s.version {
		return nil, true
	}
	return s.find(own()), false
}
