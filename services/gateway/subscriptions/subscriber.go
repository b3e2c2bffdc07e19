package subscriptions

import (
	"context"
	"net/http"
	"time"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// resourceSubscriber is a session or a stream with resource subscriptions. All fields but
// session and changing are guarded by Subscriptions.mu.
type resourceSubscriber struct {
	session   string // session key; empty for a stream
	caller    access.Principal
	client    upstream.Client        // in whose own upstream sessions it is subscribed
	resources map[string]resourceRef // by the URI of the client
	changing  chan struct{}          // semaphore for changes of the session's subscriptions
	asking    int                    // pending upstream subscriptions
	requests  int                    // requests in flight
	streams   map[*subscription]bool
	expiry    *time.Timer // ends a session without a stream; may be nil
	ended     bool
}

type resourceRef struct {
	account   account
	uri       string // as the server has it
	release   func()
	forwarded http.Header // of the request that subscribed
}

// account is an account at a server, whose updates its subscribers receive. The
// user is empty if all users share it.
type account struct {
	serverID, userID string
	forwarded        string // keyed hash of the forwarded headers, or empty
	session          string // the client whose own upstream session it is, or empty
}

// needsWatch reports whether the updates of the account must be watched. The
// syncer watches the accounts that all users share, and a client's own session
// has a function for its updates.
func (a account) needsWatch() bool {
	return a.session == "" && (a.userID != "" || a.forwarded != "")
}

func newHolder(session string, caller access.Principal, client upstream.Client) *resourceSubscriber {
	return &resourceSubscriber{session: session, caller: caller, client: client, changing: make(chan struct{}, 1), resources: map[string]resourceRef{}, streams: map[*subscription]bool{}}
}

// of returns the subscriptions at an account, by the URI of the client. The
// caller must hold Subscriptions.mu.
func (h *resourceSubscriber) of(at account) map[string]resourceRef {
	refs := map[string]resourceRef{}
	for uri, ref := range h.resources {
		if ref.account == at {
			refs[uri] = ref
		}
	}
	return refs
}

// enter returns the holder of a session for a request. The caller must call
// leave. It returns RATE_LIMITED beyond maxSubscribedSessions.
func (s *Subscriptions) enter(client *gateway.Client) (*resourceSubscriber, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.sessions[client.SessionID]
	if h == nil {
		if len(s.sessions) >= maxSubscribedSessions {
			return nil, fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many sessions have resource subscriptions. Retry later.")
		}
		h = newHolder(client.SessionID, client.Principal, gateway.SubscribingClient(client))
		s.sessions[client.SessionID] = h
	}
	h.client = gateway.SubscribingClient(client) // HTTP+SSE clients declare capabilities after the stream is open
	h.requests++
	return h, nil
}

// leave calls takeOut, which removes a request or a stream from a session. An
// unused session without resources is then removed, and one with resources
// expires after SessionGrace.
func (s *Subscriptions) leave(h *resourceSubscriber, takeOut func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	takeOut()
	switch {
	case h.ended || h.inUse():
	case len(h.resources) == 0:
		s.forget(h)
	case h.expiry == nil:
		h.expiry = time.AfterFunc(SessionGrace, s.tasks.Func("session subscription expiry", func() { s.expire(h) }))
	default:
		h.expiry.Reset(SessionGrace)
	}
}

func (h *resourceSubscriber) inUse() bool { return len(h.streams) > 0 || h.requests > 0 }

func (s *Subscriptions) expire(h *resourceSubscriber) {
	s.mu.Lock()
	used := h.inUse()
	s.mu.Unlock()
	if !used {
		s.end(h)
	}
}

// subscribe subscribes a holder to a resource, by the URI of the client. It returns RATE_LIMITED beyond
// MaxResourcesPerClient, NOT_FOUND if the holder ended in the meantime, and the
// errors of the upstream server.
func (s *Subscriptions) subscribe(ctx context.Context, h *resourceSubscriber, resource toolset.Resource, uri string) error {
	s.mu.Lock()
	_, known := h.resources[uri]
	client := h.client
	full := len(h.resources)+h.asking >= MaxResourcesPerClient
	if !known && !full {
		h.asking++
	}
	s.mu.Unlock()
	if known {
		return nil
	}
	if full {
		return fault.New(fault.KindRateLimited, fault.CodeRateLimited, "This client has the maximum of %d subscriptions. Unsubscribe from a resource first.", MaxResourcesPerClient)
	}
	target, err := resource.Server.Target.For(h.caller.UserID()).With(forwardedOf(ctx))
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		h.asking--
		return err
	}
	at, release, err := s.open(ctx, client, target, resource.URI)
	s.mu.Lock()
	h.asking--
	_, known = h.resources[uri]
	over := h.ended
	if err == nil && !known && !over {
		s.add(h, uri, resourceRef{account: at, uri: resource.URI, release: release, forwarded: forwardedOf(ctx)})
		release = nil
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case release != nil:
		release()
	}
	if over {
		return fault.New(fault.KindNotFound, fault.CodeNotFound, "This session has ended. Call initialize again.")
	}
	return nil
}

// open subscribes to a resource at its server: in the client's own upstream
// session, if it has one, and else in the one of the account.
func (s *Subscriptions) open(ctx context.Context, client upstream.Client, target *upstream.Target, uri string) (at account, release func(), err error) {
	at = account{serverID: target.ServerID, userID: target.Person, forwarded: target.Forwarded}
	own := at
	own.session = client.SessionID
	release, isOwn, err := s.resources.SubscribeOwn(ctx, target, client, uri, func(uri string) { s.updated(own, uri) })
	if isOwn || err != nil {
		return own, release, err
	}
	release, err = s.resources.Subscribe(ctx, target, uri)
	return at, release, err
}

// add stores a subscription. The caller must hold mu.
func (s *Subscriptions) add(h *resourceSubscriber, uri string, what resourceRef) {
	h.resources[uri] = what
	byURI := s.holders[what.account]
	if byURI == nil {
		byURI = map[string]map[*resourceSubscriber]bool{}
		s.holders[what.account] = byURI
		s.watch(what.account)
	}
	if byURI[what.uri] == nil {
		byURI[what.uri] = map[*resourceSubscriber]bool{}
	}
	byURI[what.uri][h] = true
}

// remove deletes a subscription and returns its release function, or nil if
// there is no such subscription. The caller must hold mu.
func (s *Subscriptions) remove(h *resourceSubscriber, uri string) func() {
	what, ok := h.resources[uri]
	if !ok {
		return nil
	}
	delete(h.resources, uri)
	for _, other := range h.resources {
		if other.account == what.account && other.uri == what.uri {
			return what.release // another form of the same URI
		}
	}
	byURI := s.holders[what.account]
	delete(byURI[what.uri], h)
	if len(byURI[what.uri]) == 0 {
		delete(byURI, what.uri)
	}
	if len(byURI) == 0 {
		delete(s.holders, what.account)
		s.unwatch(what.account)
	}
	return what.release
}

// unsubscribe ends one subscription of a holder, if it exists.
func (s *Subscriptions) unsubscribe(h *resourceSubscriber, uri string) {
	s.mu.Lock()
	release := s.remove(h, uri)
	s.mu.Unlock()
	if release != nil {
		release()
	}
}

// forget marks a holder as ended and removes it from sessions. The caller must
// hold mu.
func (s *Subscriptions) forget(h *resourceSubscriber) {
	h.ended = true
	if h.expiry != nil {
		h.expiry.Stop()
	}
	if s.sessions[h.session] == h {
		delete(s.sessions, h.session)
	}
}

// end ends all subscriptions of a holder.
func (s *Subscriptions) end(h *resourceSubscriber) {
	s.mu.Lock()
	var releases []func()
	for uri := range h.resources {
		releases = append(releases, s.remove(h, uri))
	}
	s.forget(h)
	s.mu.Unlock()
	for _, release := range releases {
		release()
	}
}

// dropHidden ends the subscriptions of resources that their subscribers no
// longer see, in a project or, if projectID is empty, in all. The caller must
// hold mu.
func (s *Subscriptions) dropHidden(projectID string) {
	seen := map[*resourceSubscriber]bool{}
	var releases []func()
	for _, byURI := range s.holders {
		for _, holders := range byURI {
			for h := range holders {
				if id := h.caller.ProjectID(); !seen[h] && (projectID == "" || id == projectID) {
					seen[h] = true
				}
			}
		}
	}
	for h := range seen {
		for uri, what := range h.resources {
			if view, _ := s.seen(h, uri, what); view == nil {
				releases = append(releases, s.remove(h, uri))
			}
		}
	}
	if len(releases) > 0 {
		s.tasks.Go("hidden resources", func() {
			for _, release := range releases {
				release()
			}
		})
	}
}

// seen returns the present view of a subscriber and the server of a subscribed
// resource, or nil if the subscriber doesn't see it now.
func (s *Subscriptions) seen(h *resourceSubscriber, uri string, what resourceRef) (*toolset.Snapshot, *toolset.Server) {
	view, err := s.views.Current(h.caller)
	if err != nil {
		return nil, nil
	}
	resource, err := view.Offers.Resource(uri)
	if err != nil || resource.Server.Config.ID != what.account.serverID || resource.URI != what.uri {
		return nil, nil
	}
	return view, resource.Server
}
