package subscriptions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// Bounds of what subscriptions to resources cost.
const (
	// MaxResourcesPerClient is how many resources one session or one stream
	// may be subscribed to.
	MaxResourcesPerClient = 100
	// maxSubscribedSessions is how many sessions may be subscribed at once.
	maxSubscribedSessions = 10_000
	// maxURIBytes bounds the address of a resource that is subscribed to.
	maxURIBytes = 8 << 10
	// SessionGrace is how long this process listens on for a session without
	// a stream, so that its client can open one, or open it again.
	SessionGrace = 5 * time.Minute
	// memoryTimeout bounds what is done for a session whose client waits for
	// nothing.
	memoryTimeout = 30 * time.Second
)

// Handle answers resources/subscribe and resources/unsubscribe of a client
// with a session (MCP 2024-11-05 to 2025-11-25, "Subscriptions"); its updates
// reach the streams given to Attach, in whichever process. params is the raw
// member of the request, or nil; trace may be nil. The subscriptions of a
// session end with it. Handle returns gateway.UnknownMethod for every other
// method and client, INVALID_PARAMETER, RESOURCE_NOT_FOUND, RATE_LIMITED beyond
// MaxResourcesPerClient, UPSTREAM_ faults, or *gateway.RPCError for what the upstream
// answered.
func (s *Subscriptions) Handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, method string, params []byte, trace *gateway.Trace) ([]byte, error) {
	subscribe := method == "resources/subscribe"
	if client.Stateless() || !subscribe && method != "resources/unsubscribe" || !project.Capabilities.Subscribe {
		return nil, gateway.UnknownMethod(method)
	}
	if client.SessionID == "" {
		return nil, fault.Invalid("a subscription belongs to a session: initialize first, and send its Mcp-Session-Id")
	}
	uri, err := uriOf(params)
	if err != nil {
		return nil, err
	}
	h, err := s.enter(client.SessionID)
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
	server, err := resourceOwner(project, uri)
	if err != nil {
		return nil, err
	}
	if trace != nil {
		trace.Server = server.Config.Alias
	}
	if err = s.subscribe(ctx, h, server, uri); err == nil {
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
		return "", fault.Invalid("params must be an object with the uri of a resource")
	}
	uri, ok := p.String("uri")
	if !ok || len(uri) > maxURIBytes {
		return "", fault.Invalid("uri must be the address of a resource, as a string of at most %d bytes", maxURIBytes)
	}
	return uri, nil
}

// resourceOwner returns the server that answers for a URI.
func resourceOwner(project *toolset.Snapshot, uri string) (*toolset.Server, error) {
	server, err := project.Offers.ResourceOwner(uri)
	if err != nil {
		return nil, fault.New(fault.KindNotFound, fault.CodeResourceNotFound, "%s", fault.From(err).Message)
	}
	return server, nil
}

// SubscribeResources calls deliver with NotifyResourceUpdated for those of the
// resources that their upstream agreed to watch, which are returned in the
// order of uris, until cancel is called (MCP 2026-07-28, "Subscriptions").
// All upstreams are asked at once; ctx bounds the asking. deliver must not
// block: it is called while others wait.
func (s *Subscriptions) SubscribeResources(ctx context.Context, project *toolset.Snapshot, uris []string, deliver func(Notification)) (agreed []string, cancel func()) {
	h := newHolder("")
	h.streams[&subscription{deliver: deliver}] = true
	asked := slices.Clone(uris)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	answered := make(chan struct{}, len(asked))
	waiting := 0
	for _, uri := range asked {
		server, err := resourceOwner(project, uri)
		if err != nil || len(uri) > maxURIBytes || waiting == MaxResourcesPerClient {
			continue
		}
		waiting++
		s.tasks.Go("resource subscription", func() {
			defer func() { answered <- struct{}{} }()
			_ = s.subscribe(ctx, h, server, uri) // what failed is not agreed
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
	return agreed, func() { s.end(h) }
}

// Attach calls deliver with the updates of the resources that a session is
// subscribed to, now and later, here and in other processes, until detach is
// called. Until then the streams of the client's own upstream sessions are held.
// deliver must not block: it is called while others wait.
func (s *Subscriptions) Attach(sessionID string, deliver func(Notification)) (detach func()) {
	sub := &subscription{deliver: deliver}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.sessions[sessionID]
	if h == nil {
		h = newHolder(sessionID)
		s.sessions[sessionID] = h
	}
	h.streams[sub] = true
	if h.expiry != nil {
		h.expiry.Stop()
	}
	s.background(func(ctx context.Context) { s.recall(ctx, h) })
	release := s.resources.HoldStreams(sessionID)
	return func() {
		release()
		s.leave(h, func() { delete(h.streams, sub) })
	}
}

// End ends the subscriptions of a session that has ended.
func (s *Subscriptions) End(sessionID string) {
	s.mu.Lock()
	h := s.sessions[sessionID]
	// Without the database its rows stay until they expire.
	s.background(func(ctx context.Context) { _ = s.memory.End(ctx, sessionID) })
	s.mu.Unlock()
	if h != nil {
		s.end(h)
	}
}

// recall makes this process listen to exactly what a session with a stream
// here is subscribed to. What cannot be had, such as a resource whose server is
// gone, is left out; the client asked for it elsewhere or earlier, so there is
// nobody to tell.
func (s *Subscriptions) recall(ctx context.Context, h *holder) {
	select {
	case h.changing <- struct{}{}:
		defer func() { <-h.changing }()
	case <-ctx.Done():
		return
	}
	projectID, uris, err := s.memory.Of(ctx, h.session)
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
	project := s.projects.ProjectByID(projectID)
	if project == nil {
		return
	}
	for _, uri := range missing {
		if server, err := resourceOwner(project, uri); err == nil {
			_ = s.subscribe(ctx, h, server, uri)
		}
	}
}

// background does something for which no client waits. The caller holds mu.
func (s *Subscriptions) background(do func(ctx context.Context)) {
	if s.closed {
		return
	}
	s.work.Go(s.tasks.Func("session subscriptions", func() {
		ctx, cancel := context.WithTimeout(s.ctx, memoryTimeout)
		defer cancel()
		do(ctx)
	}))
}

// Close ends every subscription to a resource, in this process: sessions keep
// theirs for the next one.
func (s *Subscriptions) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
	s.mu.Lock()
	var all []*holder
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

// ResourceUpdated tells who is subscribed to a resource of a server that it
// changed. An upstream may name a part of what was subscribed to (MCP
// 2025-06-18, ResourceUpdatedNotification).
func (s *Subscriptions) ResourceUpdated(serverID, uri string) {
	n := Notification{Method: NotifyResourceUpdated, Params: append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')}
	s.mu.Lock()
	defer s.mu.Unlock()
	told := map[*holder]bool{}
	for subscribed, holders := range s.holders[serverID] {
		if !covers(subscribed, uri) {
			continue
		}
		for h := range holders {
			if told[h] {
				continue
			}
			told[h] = true
			for sub := range h.streams {
				sub.deliver(n)
			}
		}
	}
}

// covers reports whether a URI is the one that was subscribed to or lies
// below it.
func covers(subscribed, uri string) bool {
	rest, ok := strings.CutPrefix(uri, subscribed)
	return ok && (rest == "" || strings.HasSuffix(subscribed, "/") || strings.ContainsRune("/?#", rune(rest[0])))
}

// ResourceSubscriber makes upstream servers tell when a resource changes,
// until release is called, and holds the streams of a client's own upstream
// sessions. release does not block.
type ResourceSubscriber interface {
	Subscribe(ctx context.Context, target *upstream.Target, uri string) (release func(), err error)
	HoldStreams(sessionID string) (release func())
}

// SessionMemory remembers for every process which resources sessions are
// subscribed to; sessions.Resources says how.
type SessionMemory interface {
	Add(ctx context.Context, session, projectID, uri string) error
	Remove(ctx context.Context, session, uri string) error
	End(ctx context.Context, session string) error
	Of(ctx context.Context, session string) (projectID string, uris []string, err error)
}
