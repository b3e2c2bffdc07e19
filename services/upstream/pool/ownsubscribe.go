package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
)

// ownWatch are the resources that a client subscribed to in its own session.
// While there are any, the session stays open, and a lost one is replaced. The
// fields are guarded by the account's mutex, except the first three.
type ownWatch struct {
	key    sessionKey
	client upstream.Client
	cancel context.CancelFunc

	updated func(uri string)
	uris    map[string]bool
}

// SubscribeOwn subscribes a client to a resource in the client's own session,
// which it opens if necessary. updated is called with the URIs of updates that
// arrive in this session, also after a gap in which updates may have been
// missed; it must not block. The subscription ends when release is called, and
// with DropClient. own is false without an error if the client has no
// own session, because the target has shared sessions or the upstream has none.
//
// Errors: *AnswerError for a JSON-RPC error, INVALID_PARAMETER if the upstream
// doesn't offer subscriptions, and the faults of Call.
func (p *Pool) SubscribeOwn(ctx context.Context, t *upstream.Target, c upstream.Client, uri string, updated func(uri string)) (release func(), own bool, err error) {
	key := p.keyOf(t, c)
	if key.client == "" {
		return nil, false, nil
	}
	err = p.with(ctx, t, ownWork, "", func(ctx context.Context, a *account) error {
		ss, err := a.acquire(ctx, t, key, c.Capabilities)
		if err != nil {
			return err
		}
		defer a.release(ss)
		if own = !ss.stateless; !own {
			return nil
		}
		if !ss.about.HasPart("resources", "subscribe") {
			return noSubscriptions(ss.place)
		}
		if err := a.subscribeIn(ctx, t, key, c, uri); err != nil {
			return err
		}
		release, err = a.keep(t, key, c, uri, updated)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return release, own, nil
}

// subscribeIn sends resources/subscribe in the client's own session, whose GET
// stream is then open.
func (a *account) subscribeIn(ctx context.Context, t *upstream.Target, key sessionKey, c upstream.Client, uri string) error {
	resp, used, err := a.pool.call(ctx, a, t, key, &upstream.Request{Method: "resources/subscribe", Params: uriParams(uri), Client: c, Stream: true})
	switch {
	case err != nil:
		return err
	case resp.Error != nil:
		return &upstream.AnswerError{Raw: resp.Error}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if used.subscribed == nil {
		used.subscribed = map[string]bool{}
	}
	used.subscribed[uri] = true
	return nil
}

func uriParams(uri string) []byte {
	return append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
}

// keep stores a subscription and keeps the client's session open for it.
func (a *account) keep(t *upstream.Target, key sessionKey, c upstream.Client, uri string, updated func(uri string)) (release func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped {
		return nil, placeOf(t).Unavailable("is disabled or was deleted.")
	}
	w := a.clients[key.client]
	if w == nil {
		ctx, cancel := context.WithCancel(context.Background())
		w = &ownWatch{key: key, client: c, cancel: cancel, uris: map[string]bool{}}
		started := a.pool.start(func(life context.Context) {
			defer context.AfterFunc(life, cancel)()
			a.follow(ctx, w)
		})
		if !started {
			cancel()
			return nil, closing(placeOf(t))
		}
		a.clients[key.client] = w
	}
	w.updated, w.uris[uri] = updated, true
	return sync.OnceFunc(func() { a.forget(w, uri) }), nil
}

// forget ends a subscription, also at the upstream if its session is open.
func (a *account) forget(w *ownWatch, uri string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(w.uris, uri)
	if len(w.uris) == 0 {
		a.endWatch(w)
	}
	ss, t := a.sessions[w.key], a.target
	if ss == nil || !ss.subscribed[uri] {
		return
	}
	delete(ss.subscribed, uri)
	ss.inflight++
	started := a.pool.start(func(life context.Context) {
		defer a.release(ss)
		ctx, cancel := context.WithTimeout(life, transport.MaxReplyTime)
		defer cancel()
		// Updates of the resource have no receiver, so an error does not matter.
		_, _ = ss.call(ctx, a.pool, t, &upstream.Request{Method: "resources/unsubscribe", Params: uriParams(uri), Client: w.client}, true)
	})
	if !started {
		ss.inflight--
	}
}

// endWatch ends the hold on the client's session. The caller must hold mu.
func (a *account) endWatch(w *ownWatch) {
	w.cancel()
	if a.clients[w.key.client] == w {
		delete(a.clients, w.key.client)
	}
}

// follow holds the session of a client until the watch is cancelled or the
// account is dropped. It renews the subscriptions in each new session.
func (a *account) follow(ctx context.Context, w *ownWatch) {
	var pauses transport.GetStream
	var last *session
	for ctx.Err() == nil {
		began := time.Now()
		ss, err := a.acquire(ctx, a.newestTarget(), w.key, w.client.Capabilities)
		if errors.Is(err, errDropped) || errors.Is(err, errSwept) {
			return
		}
		if err == nil {
			if renewed := a.renew(ctx, w, ss); renewed && last != nil && ss != last {
				a.reportGap(w)
			}
			last = ss
			a.attend(ctx, ss)
			a.release(ss)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pauses.Again(false, time.Since(began), 0)):
		}
	}
}

// newestTarget returns the newest target of the account.
func (a *account) newestTarget() *upstream.Target {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.target
}

// renew subscribes to the resources that a session does not watch. It reports
// whether there were any.
func (a *account) renew(ctx context.Context, w *ownWatch, ss *session) bool {
	if ss.stateless { // it has no sessions any more
		return false
	}
	a.mu.Lock()
	t := a.target
	uris := slices.DeleteFunc(slices.Collect(maps.Keys(w.uris)), func(uri string) bool { return ss.subscribed[uri] })
	a.mu.Unlock()
	for _, uri := range uris {
		ctx, cancel := context.WithTimeout(ctx, t.CallTimeout())
		_ = a.subscribeIn(ctx, t, w.key, w.client, uri) // the next session tries again
		cancel()
	}
	return len(uris) > 0
}

// attend waits until a session ends or ctx is cancelled.
func (a *account) attend(ctx context.Context, ss *session) {
	var broken <-chan struct{}
	if l, ok := ss.transport.(*transport.LegacySSE); ok {
		broken = l.Done
	}
	select {
	case <-ctx.Done():
	case <-ss.inUse.Done():
	case <-broken:
		a.discard(ss, sessionExpired)
	}
}

// reportGap reports every resource as updated, because updates may have been
// missed.
func (a *account) reportGap(w *ownWatch) {
	a.mu.Lock()
	uris, updated := slices.Sorted(maps.Keys(w.uris)), w.updated
	a.mu.Unlock()
	for _, uri := range uris {
		updated(uri)
	}
}

// replaceLost discards a session that the upstream has lost if its client is
// subscribed to resources. Otherwise the next call notices the loss.
func (a *account) replaceLost(ss *session) {
	a.mu.Lock()
	watched := a.clients[ss.key.client] != nil
	a.mu.Unlock()
	if watched {
		a.discard(ss, sessionExpired)
	}
}

// observer returns the function that receives every notification of a session
// with the key. An update in a client's own session concerns that client alone.
func (a *account) observer(key sessionKey) func(method string, params []byte) {
	if key.client == "" {
		return a.notifyWatchers
	}
	return func(method string, params []byte) {
		if method != upstream.ResourceUpdated {
			a.notifyWatchers(method, params)
			return
		}
		o, err := rawjson.ParseObject(params, rawjson.Lenient)
		if err != nil {
			return
		}
		uri, ok := o.String("uri")
		a.mu.Lock()
		w := a.clients[key.client]
		var updated func(string)
		if w != nil {
			updated = w.updated
		}
		a.mu.Unlock()
		if ok && updated != nil {
			updated(uri)
		}
	}
}

// observeStream receives the notifications of a session's GET stream. In
// shared sessions the gateway's own session receives the updates of resources.
func (ss *session) observeStream(method string, params []byte) {
	if ss.key.client != "" || method != upstream.ResourceUpdated {
		ss.onNotification(method, params)
	}
}
