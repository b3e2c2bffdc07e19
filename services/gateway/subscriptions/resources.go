package subscriptions

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// Limits of resource subscriptions.
const (
	// MaxResourcesPerClient is the maximum number of resource subscriptions of
	// a session or a stream.
	MaxResourcesPerClient = 100
	// maxSubscribedSessions is the maximum number of sessions with
	// subscriptions in this process.
	maxSubscribedSessions = 10_000
	// maxURIBytes is the maximum length of a subscribed URI in bytes.
	maxURIBytes = 8 << 10
	// SessionGrace is the time for which a session without a stream remains
	// subscribed, so that its client can open or reopen a stream.
	SessionGrace = 5 * time.Minute
	// storeTimeout is the maximum duration of background work for a session.
	storeTimeout = 30 * time.Second
)

// Handle handles resources/subscribe and resources/unsubscribe of a client with
// a session (MCP 2024-11-05 to 2025-11-25, "Subscriptions"). Updates are
// delivered to the streams passed to Attach, in any process. The subscriptions
// end with the session. params is the raw member of the request, or nil. trace
// may be nil.
//
// Handle returns gateway.UnknownMethod for other methods, for stateless clients
// and for projects without subscriptions. Other errors are INVALID_PARAMETER,
// RESOURCE_NOT_FOUND, RATE_LIMITED beyond a limit, UPSTREAM_ faults, and
// *gateway.RPCError for an error response of the upstream server.
func (s *Subscriptions) Handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, method string, params []byte, trace *gateway.RequestInfo) ([]byte, error) {
	subscribe := method == "resources/subscribe"
	if client.Stateless() || !subscribe && method != "resources/unsubscribe" || !project.Capabilities.Subscribe {
		return nil, gateway.UnknownMethod(method)
	}
	if client.SessionID == "" {
		return nil, fault.Invalid("Subscriptions need a session. Call initialize first and send its Mcp-Session-Id.")
	}
	uri, err := uriOf(params)
	if err != nil {
		return nil, err
	}
	h, err := s.enter(client)
	if err != nil {
		return nil, err
	}
	defer s.leave(h, func() { h.requests-- })
	select {
	case h.changing <- struct{}{}:
		defer func() { <-h.changing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !subscribe {
		s.unsubscribe(h, uri)
		return []byte("{}"), s.memory.Remove(ctx, client.SessionID, uri)
	}
	resource, err := project.Offers.Resource(uri)
	if err != nil {
		return nil, err
	}
	if trace != nil {
		trace.Server = resource.Server.Config.Alias
	}
	if err = s.subscribe(WithForwarded(ctx, client.Forwarded), h, resource, uri); err == nil {
		if err = s.memory.Add(ctx, client.SessionID, project.Project.ID, uri); err != nil {
			s.unsubscribe(h, uri)
		}
	}
	if refused := (*upstream.AnswerError)(nil); errors.As(err, &refused) {
		return nil, &gateway.RPCError{Raw: refused.Raw}
	}
	if err != nil {
		return nil, err
	}
	return []byte("{}"), nil
}

// uriOf returns the uri of raw params, or INVALID_PARAMETER.
func uriOf(params []byte) (string, error) {
	p, err := rawjson.ParseObject(params, rawjson.Strict)
	if err != nil {
		return "", fault.Invalid("params must be an object with the uri of a resource.")
	}
	uri, ok := p.String("uri")
	if !ok || len(uri) > maxURIBytes {
		return "", fault.Invalid("uri must be a string of at most %d bytes: the URI of a resource.", maxURIBytes)
	}
	return uri, nil
}

// SubscribeResources calls deliver with NotifyResourceUpdated for updates of
// resources that the caller sees until cancel is called (MCP 2026-07-28, "Subscriptions"). It returns
// the resources that their servers agreed to watch, in the order of uris. The
// servers are called concurrently, until ctx ends. deliver must not block,
// because it is called with the lock held.
func (s *Subscriptions) SubscribeResources(ctx context.Context, project *toolset.Snapshot, caller access.Principal, uris []string, deliver func(Notification)) (agreed []string, cancel func()) {
	h := newHolder("", caller, upstream.Client{SessionID: "listen " + rand.Text(), Caller: caller.ID()})
	release := s.resources.HoldStreams(h.client.SessionID)
	h.streams[&subscription{deliver: deliver}] = true
	asked := slices.Clone(uris)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	answered := make(chan struct{}, len(asked))
	waiting := 0
	for _, uri := range asked {
		resource, err := project.Offers.Resource(uri)
		if err != nil || len(uri) > maxURIBytes || waiting == MaxResourcesPerClient {
			continue
		}
		waiting++
		s.tasks.Go("resource subscription", func() {
			defer func() { answered <- struct{}{} }()
			_ = s.subscribe(ctx, h, resource, uri) // failures are missing in agreed
		})
	}
	for range waiting {
		<-answered
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uri := range uris {
		if _, ok := h.resources[uri]; ok && !slices.Contains(agreed, uri) {
			agreed = append(agreed, uri)
		}
	}
	return agreed, func() {
		s.end(h)
		release()
		s.resources.DropClient(h.client.SessionID)
	}
}

// Attach calls deliver with updates of all resources that the session is
// subscribed to, until detach is called. This includes later subscriptions and
// those made in other processes. Until detach, the streams of the client's own
// upstream sessions stay open. deliver must not block, because it is called
// with the lock held.
func (s *Subscriptions) Attach(client *gateway.Client, deliver func(Notification)) (detach func()) {
	sub := &subscription{deliver: deliver}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.sessions[client.SessionID]
	if h == nil {
		h = newHolder(client.SessionID, client.Principal, gateway.SubscribingClient(client))
		s.sessions[client.SessionID] = h
	}
	h.streams[sub] = true
	if h.expiry != nil {
		h.expiry.Stop()
	}
	s.background(func(ctx context.Context) { s.restore(ctx, h) })
	release := s.resources.HoldStreams(client.SessionID)
	return func() {
		release()
		s.leave(h, func() { delete(h.streams, sub) })
	}
}

// End ends the subscriptions of an ended session in every process, and its own
// upstream sessions in this one.
func (s *Subscriptions) End(sessionID string) {
	s.mu.Lock()
	h := s.sessions[sessionID]
	// If the database is unreachable, the rows remain until they expire.
	s.background(func(ctx context.Context) { _ = s.memory.End(ctx, sessionID) })
	s.mu.Unlock()
	if h != nil {
		s.end(h)
	}
	s.resources.DropClient(sessionID)
}

// restore applies the stored subscriptions of a session in this process: it ends
// those no longer stored and, if the session has a stream here, adds missing
// ones. Failures, such as a deleted server, are ignored, because the client
// subscribed earlier or in another process and isn't waiting for a response.
func (s *Subscriptions) restore(ctx context.Context, h *resourceSubscriber) {
	select {
	case h.changing <- struct{}{}:
		defer func() { <-h.changing }()
	case <-ctx.Done():
		return
	}
	_, uris, err := s.memory.Of(ctx, h.session)
	if err != nil {
		return
	}
	s.mu.Lock()
	var gone, missing []string
	for uri := range h.resources {
		if !slices.Contains(uris, uri) {
			gone = append(gone, uri)
		}
	}
	for _, uri := range uris {
		if _, here := h.resources[uri]; !here && len(h.streams) > 0 {
			missing = append(missing, uri)
		}
	}
	s.mu.Unlock()
	for _, uri := range gone {
		s.unsubscribe(h, uri)
	}
	project, err := s.views.Current(h.caller)
	if err != nil {
		return
	}
	for _, uri := range missing {
		// Forwarded headers are not stored, and without them it could be another
		// account.
		if resource, err := project.Offers.Resource(uri); err == nil && len(resource.Server.Config.ForwardHeaders) == 0 {
			_ = s.subscribe(ctx, h, resource, uri)
		}
	}
}

// background runs work for which no client waits in a goroutine, unless s is
// closed. The caller must hold mu.
func (s *Subscriptions) background(do func(ctx context.Context)) {
	if s.closed {
		return
	}
	s.work.Go(s.tasks.Func("session subscriptions", func() {
		ctx, cancel := context.WithTimeout(s.ctx, storeTimeout)
		defer cancel()
		do(ctx)
	}))
}

// Close ends all resource subscriptions in this process. Those of sessions
// remain stored for other processes.
func (s *Subscriptions) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
	s.mu.Lock()
	var all []*resourceSubscriber
	for _, h := range s.sessions {
		all = append(all, h)
	}
	for _, byURI := range s.holders {
		for _, holders := range byURI {
			for h := range holders {
				all = append(all, h)
			}
		}
	}
	s.mu.Unlock()
	for _, h := range all {
		s.end(h)
	}
}

// ResourceUpdated notifies the subscribers of an updated resource of a server
// whose account all users share, who see it.
// uri may be a sub-resource of the subscribed one (MCP 2025-06-18,
// ResourceUpdatedNotification).
func (s *Subscriptions) ResourceUpdated(serverID, uri string) {
	s.updated(account{serverID: serverID}, uri)
}

// updated notifies the subscribers of an updated resource of an account.
func (s *Subscriptions) updated(at account, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := map[*resourceSubscriber]bool{}
	for subscribed, holders := range s.holders[at] {
		if !covers(subscribed, uri) {
			continue
		}
		for h := range holders {
			if told[h] {
				continue
			}
			for _, asked := range s.formsOf(h, at, subscribed, uri) {
				told[h] = true
				n := Notification{Method: NotifyResourceUpdated, Params: append(rawjson.AppendString([]byte(`{"uri":`), asked), '}')}
				for sub := range h.streams {
					sub.deliver(n)
				}
			}
		}
	}
}

// formsOf returns the URIs of an updated resource for a subscriber who sees it
// now: in the forms in which the client subscribed to subscribed, the server's
// own URI. The caller must hold mu.
func (s *Subscriptions) formsOf(h *resourceSubscriber, at account, subscribed, uri string) (forms []string) {
	for asked, ref := range h.resources {
		if ref.account != at || ref.uri != subscribed {
			continue
		}
		view, server := s.seen(h, asked, ref)
		switch {
		case view == nil:
		case uri != subscribed && asked == subscribed:
			forms = append(forms, view.Addresses.Shown(server.Config.Alias, uri))
		default:
			forms = append(forms, asked+uri[len(subscribed):])
		}
	}
	return forms
}

// covers reports whether uri is the subscribed URI or a sub-resource of it.
func covers(subscribed, uri string) bool {
	rest, ok := strings.CutPrefix(uri, subscribed)
	return ok && (rest == "" || strings.HasSuffix(subscribed, "/") || strings.ContainsRune("/?#", rune(rest[0])))
}

// ResourceSubscriber subscribes to resources of upstream servers, and keeps the
// streams of a client's own upstream sessions open. Both end when release is
// called, which does not block. Watch reports the notifications of an account
// until ctx ends or the account is dropped.
type ResourceSubscriber interface {
	Watch(ctx context.Context, target *upstream.Target, events func(upstream.Event))
	Subscribe(ctx context.Context, target *upstream.Target, uri string) (release func(), err error)
	// SubscribeOwn subscribes a client in its own upstream session. updated must
	// not block. own is false without an error if the client has none.
	SubscribeOwn(ctx context.Context, target *upstream.Target, client upstream.Client, uri string, updated func(uri string)) (release func(), own bool, err error)
	// DropClient closes the upstream sessions of a client.
	DropClient(sessionID string)
	HoldStreams(sessionID string) (release func())
}

// SubscriptionStore stores the resource subscriptions of sessions for all
// processes. Implemented by sessions.Resources.
type SubscriptionStore interface {
	Add(ctx context.Context, session, projectID, uri string) error
	Remove(ctx context.Context, session, uri string) error
	End(ctx context.Context, session string) error
	Of(ctx context.Context, session string) (projectID string, uris []string, err error)
}
