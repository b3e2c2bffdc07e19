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
	settled  bool          // the upstream agreed or refused
	ready    chan struct{} // closed when it is settled
	err      error         // why it was refused
	rejected bool          // it was agreed to once, but is not any more
}

// Subscribe makes the upstream say when a resource changes, which Watch passes
// on as ResourceUpdated. Everybody who subscribes to the same resource of a
// server shares one subscription, which ends when each has called release; it
// holds when the upstream's session is begun anew. Over a session the upstream
// is asked by resources/subscribe (MCP 2024-11-05 to 2025-11-25); one of
// revision 2026-07-28 is asked by the watch, if there is one, and otherwise
// when the next one begins.
//
// Errors are *AnswerError for what the upstream answered, INVALID_PARAMETER
// when it offers no subscriptions, RATE_LIMITED beyond 1,000 resources of one
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

// subscribe counts one more subscriber of a resource.
func (s *server) subscribe(t *upstream.Target, uri string) (*resource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped || t.ServerID == "" {
		return nil, placeOf(t).Unavailable("is switched off or gone")
	}
	if r := s.resources[uri]; r != nil {
		r.refs++
		return r, nil
	}
	if len(s.resources) == maxSubscribed {
		return nil, fault.New(fault.KindRateLimited, fault.CodeRateLimited, "%s has %d resources that are subscribed to, which is as many as the gateway watches", placeOf(t), maxSubscribed)
	}
	if s.target == nil || s.target.Version < t.Version {
		s.target = t
	}
	r := &resource{refs: 1, ready: make(chan struct{})}
	s.resources[uri] = r
	if !s.pool.start(func(life context.Context) { s.settle(life, uri) }) {
		delete(s.resources, uri)
		return nil, closing(placeOf(t))
	}
	return r, nil
}

// unsubscribe counts one subscriber less.
func (s *server) unsubscribe(uri string, r *resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.refs--; r.refs > 0 || s.resources[uri] != r {
		return
	}
	delete(s.resources, uri)
	s.wakeWatchers()
	s.pool.start(func(life context.Context) { s.settle(life, uri) })
}

// accept tells who waits that the upstream agreed.
func (r *resource) accept() {
	r.rejected = false
	if !r.settled {
		r.settled = true
		close(r.ready)
	}
}

// refuse tells who waits that the upstream did not agree. A subscription that
// it agreed to before stays, in case that it does so again.
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

// forgetResources ends every subscription of a server that was dropped.
func (s *server) forgetResources() {
	for uri := range s.resources {
		if s.target != nil {
			s.refuse(uri, placeOf(s.target).Unavailable("was switched off or is gone"))
		}
	}
	clear(s.resources)
}

// subscribedURIs returns the resources that the upstream agreed to watch.
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

// subscribeAgain tells the upstream about every resource, after a session was
// begun.
func (s *server) subscribeAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.resources) == 0 {
		return
	}
	uris := slices.Collect(maps.Keys(s.resources))
	s.pool.start(func(life context.Context) {
		for _, uri := range uris {
			s.settle(life, uri)
		}
	})
}

// settle makes what the upstream knows of one resource true: it subscribes or
// unsubscribes. Only one goroutine at a time does so for one resource, and it
// goes on until there is nothing left to tell. The bound is for an upstream
// that agrees and forgets at once.
func (s *server) settle(life context.Context, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settling[uri] {
		return
	}
	s.settling[uri] = true
	var failed error = placeOf(s.target).Unavailable("agrees to watch a resource and forgets it at once")
	for range maxSettleRounds {
		var settled bool
		err := s.pool.tasks.Try("resource subscription", func() (err error) { settled, err = s.tellOf(life, uri); return err })
		if settled {
			return // and another goroutine may have begun
		}
		if err != nil {
			failed = err
			break
		}
	}
	delete(s.settling, uri)
	s.refuse(uri, failed)
}

// tellOf tells the upstream of one resource, if it does not know. With settled
// there was nothing to tell, and the mark that somebody does was removed in
// the same moment. The caller holds the mutex, which is free while the
// upstream is asked.
func (s *server) tellOf(life context.Context, uri string) (settled bool, err error) {
	t, wanted := s.target, s.resources[uri] != nil
	known := s.find(own())
	if s.dropped || !wanted && (known == nil || !known.subscribed[uri]) {
		delete(s.settling, uri)
		return true, nil
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	started := time.Now()
	ctx, cancel := context.WithTimeout(life, t.CallTimeout())
	defer cancel()
	ss, err := s.acquire(ctx, t, own())
	if err != nil {
		return false, explain(life, t, started, err)
	}
	defer s.release(ss)
	method, settled := s.toTell(ss, uri)
	if settled {
		return true, nil
	}
	params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
	resp, used, err := s.pool.call(ctx, s, t, own(), &upstream.Request{Method: method, Params: params})
	if err == nil && resp.Error != nil {
		err = &upstream.AnswerError{Raw: resp.Error}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == "resources/unsubscribe" {
		// Should it have failed, what comes of it finds nobody.
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

// toTell returns the method that tells the upstream of one resource. With
// settled there is nothing to tell, and the mark that somebody does was removed.
func (s *server) toTell(ss *session, uri string) (method string, settled bool) {
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
		s.wakeWatchers() // who ask for it on their stream
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

// noSubscriptions is the fault for an upstream whose resources cannot be
// subscribed to.
func noSubscriptions(p transport.Place) *fault.Fault {
	return fault.Invalid("%s offers no subscriptions to its resources", p)
}
