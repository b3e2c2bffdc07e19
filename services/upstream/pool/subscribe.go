package pool

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
)

// resource is one resource that clients subscribed to.
type resource struct {
	refs     int
	settled  bool          // the upstream accepted or rejected it
	ready    chan struct{} // closed when it is settled
	err      error         // why it was rejected
	rejected bool          // it was accepted earlier and rejected later
}

// Subscribe subscribes to a resource, whose changes Watch reports as
// ResourceUpdated. All subscribers of the same resource share one subscription.
// It ends when each has called release and is renewed in each new session. In a
// session the gateway sends resources/subscribe (MCP 2024-11-05 to 2025-11-25).
// In revision 2026-07-28 the watch subscribes, and without a running watch the
// next one does.
//
// Errors: *AnswerError for a JSON-RPC error, INVALID_PARAMETER if the upstream
// doesn't offer subscriptions, RATE_LIMITED beyond 1,000 resources of one
// server, and the faults of Call. Dropping the server ends its subscriptions.
func (p *Pool) Subscribe(ctx context.Context, t *upstream.Target, uri string) (release func(), err error) {
	err = p.with(ctx, t, ownWork, "", func(ctx context.Context, s *account) error {
		r, err := s.subscribe(t, uri)
		if err != nil {
			return err
		}
		release = sync.OnceFunc(func() { s.unsubscribe(uri, r) })
		select {
		case <-r.ready:
			return r.err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		if release != nil {
			release()
		}
		return nil, err
	}
	return release, nil
}

// subscribe adds a subscriber of a resource.
func (a *account) subscribe(t *upstream.Target, uri string) (*resource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.swept {
		return nil, errSwept
	}
	if a.dropped || t.ServerID == "" {
		return nil, placeOf(t).Unavailable("is disabled or was deleted.")
	}
	if r := a.resources[uri]; r != nil {
		r.refs++
		return r, nil
	}
	if len(a.resources) == maxSubscribed {
		return nil, fault.New(fault.KindRateLimited, fault.CodeRateLimited, "%s has %d subscribed resources, the maximum. Unsubscribe from one first.", placeOf(t), maxSubscribed)
	}
	if a.target == nil || a.target.Version < t.Version {
		a.target = t
	}
	r := &resource{refs: 1, ready: make(chan struct{})}
	a.resources[uri] = r
	if !a.pool.start(func(life context.Context) { a.reconcile(life, uri) }) {
		delete(a.resources, uri)
		return nil, closing(placeOf(t))
	}
	return r, nil
}

// unsubscribe removes a subscriber of a resource.
func (a *account) unsubscribe(uri string, r *resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.refs--; r.refs > 0 || a.resources[uri] != r {
		return
	}
	delete(a.resources, uri)
	a.wakeWatchers()
	a.pool.start(func(life context.Context) { a.reconcile(life, uri) })
}

// accept notifies the waiting subscribers that the upstream accepted the
// subscription.
func (r *resource) accept() {
	r.rejected = false
	if !r.settled {
		r.settled = true
		close(r.ready)
	}
}

// refuse notifies the waiting subscribers that the upstream rejected the
// subscription. An earlier accepted subscription stays, because the upstream
// may accept it again. The caller must hold mu.
func (a *account) refuse(uri string, err error) {
	r := a.resources[uri]
	switch {
	case r == nil:
	case r.settled:
		r.rejected = true
	default:
		r.settled, r.err = true, err
		close(r.ready)
		delete(a.resources, uri)
	}
}

// forgetResources ends all subscriptions of a dropped server. The caller must
// hold mu.
func (a *account) forgetResources() {
	for uri := range a.resources {
		if a.target != nil {
			a.refuse(uri, placeOf(a.target).Unavailable("was disabled or deleted."))
		}
	}
	clear(a.resources)
}

// subscribedURIs returns the sorted resources that the upstream watches.
func (a *account) subscribedURIs() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(func(yield func(string) bool) {
		for uri, r := range a.resources {
			if r.settled && !r.rejected && !yield(uri) {
				return
			}
		}
	})
}

// subscribeAgain renews all subscriptions after a new session has started.
func (a *account) subscribeAgain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.resources) == 0 {
		return
	}
	uris := slices.Collect(maps.Keys(a.resources))
	a.pool.start(func(life context.Context) {
		for _, uri := range uris {
			a.reconcile(life, uri)
		}
	})
}

// reconcile subscribes or unsubscribes until the upstream's subscription to one
// resource matches ours. Only one goroutine does so per resource. The limit on
// rounds is for upstreams that accept a subscription and lose it immediately.
func (a *account) reconcile(life context.Context, uri string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.settling[uri] {
		return
	}
	a.settling[uri] = true
	var failed error = placeOf(a.target).Unavailable("accepts a subscription and loses it immediately.")
	for range maxSettleRounds {
		var settled bool
		err := a.pool.tasks.Try("resource subscription", func() (err error) { settled, err = a.syncResource(life, uri); return err })
		if settled {
			return // another goroutine may have started
		}
		if err != nil {
			failed = err
			break
		}
	}
	delete(a.settling, uri)
	a.refuse(uri, failed)
}

// syncResource sends a subscribe or unsubscribe request for one resource if
// necessary. If settled is true, nothing was necessary, and the entry in
// settling was deleted under the same lock. The caller must hold mu, which is
// released during requests.
func (a *account) syncResource(life context.Context, uri string) (settled bool, err error) {
	t, wanted := a.target, a.resources[uri] != nil
	known := a.find(gatewaySessionKey())
	if a.dropped || !wanted && (known == nil || !known.subscribed[uri]) {
		delete(a.settling, uri)
		return true, nil
	}
	a.mu.Unlock()
	defer a.mu.Lock()
	started := time.Now()
	ctx, cancel := context.WithTimeout(life, t.CallTimeout()+t.StartTime())
	defer cancel()
	ss, err := a.acquire(ctx, t, gatewaySessionKey(), nil)
	if err != nil {
		return false, explain(life, t, started, err)
	}
	defer a.release(ss)
	method, settled := a.pendingMethod(ss, uri)
	if settled {
		return true, nil
	}
	params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
	resp, used, err := a.pool.call(ctx, a, t, gatewaySessionKey(), &upstream.Request{Method: method, Params: params, Client: ownClient()})
	if err == nil && resp.Error != nil {
		err = &upstream.AnswerError{Raw: resp.Error}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if method == "resources/unsubscribe" {
		// An error doesn't matter: updates of the resource have no receiver.
		delete(ss.subscribed, uri)
		return false, nil
	}
	if err != nil {
		return false, explain(life, t, started, err)
	}
	if used.subscribed == nil {
		used.subscribed = map[string]bool{}
	}
	used.subscribed[uri] = true
	return false, nil
}

// pendingMethod returns the method to call for one resource. If settled is true, no
// call is necessary, and the entry in settling was deleted.
func (a *account) pendingMethod(ss *session, uri string) (method string, settled bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	method = "resources/subscribe"
	switch {
	case ss.stateless:
		if r := a.resources[uri]; r != nil && !ss.about.HasPart("resources", "subscribe") {
			a.refuse(uri, noSubscriptions(ss.place))
		} else if r != nil && len(a.watchers) == 0 {
			r.accept()
		}
		a.wakeWatchers() // they request it on their stream
		settled = true
	case (a.resources[uri] != nil) == ss.subscribed[uri]:
		if r := a.resources[uri]; r != nil {
			r.accept()
		}
		settled = true
	case ss.subscribed[uri]:
		method = "resources/unsubscribe"
	case !ss.about.HasPart("resources", "subscribe"):
		a.refuse(uri, noSubscriptions(ss.place))
		settled = true
	}
	if settled {
		delete(a.settling, uri)
	}
	return method, settled
}

// noSubscriptions returns the fault for an upstream without resource
// subscriptions.
func noSubscriptions(p transport.FaultOrigin) *fault.Fault {
	return fault.Invalid("%s does not support resource subscriptions.", p)
}
