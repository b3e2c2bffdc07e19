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
	server := p.server(t)
	if server == nil {
		return // a target without an ID has no shared sessions
	}
	ctx, leave, ok := p.join(ctx)
	if !ok {
		return
	}
	defer leave()
	w := &watcher{pool: p, target: t, wake: make(chan struct{}, 1), events: events}
	for w.account == nil || !w.account.watch(w) {
		w.account = server.account(t)
	}
	defer w.account.unwatch(w)
	w.run(ctx)
}

// watch adds a watcher. It returns false if the account is replaced because it
// was idle.
func (a *account) watch(w *watcher) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.swept {
		return false
	}
	a.watchers[w] = true
	return true
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
func (a *account) unwatch(w *watcher) {
	a.mu.Lock()
	delete(a.watchers, w)
	if len(a.watchers) == 0 {
		for uri, r := range a.resources {
			if !a.settling[uri] {
				r.accept()
			}
		}
	}
	a.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = nil
}

// notifyWatchers notifies the watchers of a notification that concerns more than one
// call.
func (a *account) notifyWatchers(method string, params []byte) {
	a.server.lastNotification.Store(time.Now().UnixNano())
	switch method {
	case upstream.ToolsListChanged, upstream.PromptsListChanged, upstream.ResourcesListChanged, upstream.ResourceUpdated:
	default:
		return
	}
	a.mu.Lock()
	watchers := slices.Collect(maps.Keys(a.watchers))
	a.mu.Unlock()
	for _, w := range watchers {
		w.emit(upstream.Event{Method: method, Params: params})
	}
}

// wakeWatchers signals the watchers to check the state of the server again. The
// caller must hold mu.
func (a *account) wakeWatchers() {
	for w := range a.watchers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// present returns the gateway's own session or nil. It also reports whether the
// target is permanently replaced or dropped.
func (a *account) present(t *upstream.Target) (ss *session, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped || t.Version < a.version {
		return nil, true
	}
	return a.find(gatewaySessionKey()), false
}
