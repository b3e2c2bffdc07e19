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
	err = p.with(ctx, t, ownWork, "", func(ctx context.Context, s *server) error {
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
func (s *server) subscribe(t *upstream.Target, uri string) (*resource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped || t.ServerID == "" {
		return nil, placeOf(t).Unavailable("is disabled or was deleted.")
	}
	if r := s.resources[uri]; r != nil {
		r.refs++
		return r, nil
	}
	if len(s.resources) == maxSubscribed {
		return nil, fault.New(fault.KindRateLimited, fault.CodeRateLimited, "%s has %d subscribed resources, the maximum. Unsubscribe from one first.", placeOf(t), maxSubscribed)
	}
	if s.target == nil || s.target.Version < t.Version {
		s.target = t
	}
	r := &resource{refs: 1, ready: make(chan struct{})}
	s.resources[uri] = r
	if !s.pool.start(func(life context.Context) { s.reconcile(life, uri) }) {
		delete(s.resources, uri)
		return nil, closing(placeOf(t))
	}
	return r, nil
}

// unsubscribe removes a subscriber of a resource.
func (s *server) unsubscribe(uri string, r *resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.refs--; r.refs > 0 || s.resources[uri] != r {
		return
	}
	delete(s.resources, uri)
	s.wakeWatchers()
	s.pool.start(func(life context.Context) { s.reconcile(life, uri) })
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
func (s *server) refuse(uri string, err error) {
	r := s.resources[uri]
	switch {
	case r == nil:
	case r.settled:
		r.rejected = true
	default:
		r.settled, r.err = true, err
		close(r.ready)
		delete(s.resources, uri)
	}
}

// forgetResources ends all subscriptions of a dropped server. The caller must
// hold mu.
func (s *server) forgetResources() {
	for uri := range s.resources {
		if s.target != nil {
			s.refuse(uri, placeOf(s.target).Unavailable("was disabled or deleted."))
		}
	}
	clear(s.resources)
}

// subscribedURIs returns the sorted resources that the upstream watches.
func (s *server) subscribedURIs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(func(yield func(string) bool) {
		for uri, r := range s.resources {
			if r.settled && !r.rejected && !yield(uri) {
				return
			}
		}
	})
}

// subscribeAgain renews all subscriptions after a new session has started.
func (s *server) subscribeAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.resources) == 0 {
		return
	}
	uris := slices.Collect(maps.Keys(s.resources))
	s.pool.start(func(life context.Context) {
		for _, uri := range uris {
			s.reconcile(life, uri)
		}
	})
}

// reconcile subscribes or unsubscribes until the upstream's subscription to one
// resource matches ours. Only one goroutine does so per resource. The limit on
// rounds is for upstreams that accept a subscription and lose it immediately.
func (s *server) reconcile(life context.Context, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settling[uri] {
		return
	}
	s.settling[uri] = true
	var failed error = placeOf(s.target).Unavailable("accepts a subscription and loses it immediately.")
	for range maxSettleRounds {
		var settled bool
		err := s.pool.tasks.Try("resource subscription", func() (err error) { settled, err = s.syncResource(life, uri); return err })
		if settled {
			return // another goroutine may have started
		}
		if err != nil {
			failed = err
			break
		}
	}
	delete(s.settling, uri)
	s.refuse(uri, failed)
}

// syncResource sends a subscribe or unsubscribe request for one resource if
// necessary. If settled is true, nothing was necessary, and the entry in
// settling was deleted under the same lock. The caller must hold mu, which is
// released during requests.
func (s *server) syncResource(life context.Context, uri string) (settled bool, err error) {
	t, wanted := s.target, s.resources[uri] != nil
	known := s.find(gatewaySessionKey())
	if s.dropped || !wanted && (known == nil || !known.subscribed[uri]) {
		delete(s.settling, uri)
		return true, nil
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	started := time.Now()
	ctx, cancel := context.WithTimeout(life, t.CallTimeout())
	defer cancel()
	ss, err := s.acquire(ctx, t, gatewaySessionKey())
	if err != nil {
		return false, explain(life, t, started, err)
	}
	defer s.release(ss)
	method, settled := s.pendingMethod(ss, uri)
	if settled {
		return true, nil
	}
	params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
	resp, used, err := s.pool.call(ctx, s, t, gatewaySessionKey(), &upstream.Request{Method: method, Params: params})
	if err == nil && resp.Error != nil {
		err = &upstream.AnswerError{Raw: resp.Error}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
func (s *server) pendingMethod(ss *session, uri string) (method string, settled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	method = "resources/subscribe"
	switch {
	case ss.stateless:
		if r := s.resources[uri]; r != nil && !ss.about.HasPart("resources", "subscribe") {
			s.refuse(uri, noSubscriptions(ss.place))
		} else if r != nil && len(s.watchers) == 0 {
			r.accept()
		}
		s.wakeWatchers() // they request it on their stream
		settled = true
	case (s.resources[uri] != nil) == ss.subscribed[uri]:
		if r := s.resources[uri]; r != nil {
			r.accept()
		}
		settled = true
	case ss.subscribed[uri]:
		method = "resources/unsubscribe"
	case !ss.about.HasPart("resources", "subscribe"):
		s.refuse(uri, noSubscriptions(ss.place))
		settled = true
	}
	if settled {
		delete(s.settling, uri)
	}
	return method, settled
}

// noSubscriptions returns the fault for an upstream without resource
// subscriptions.
func noSubscriptions(p transport.FaultOrigin) *fault.Fault {
	return fault.Invalid("%s does not support resource subscriptions.", p)
}
