package subscriptions

import (
	"context"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
)

// holder is a session or a stream that is subscribed to resources.
type holder struct {
	session   string // its id; empty for a stream
	resources map[string]held
	changing  chan struct{} // held by whoever changes what the session is subscribed to
	asking    int           // upstreams that have not answered yet
	requests  int           // of the session, under way
	streams   map[*subscription]bool
	expiry    *time.Timer // of a session without a stream; may be nil
	over      bool
}

type held struct {
	serverID string
	release  func()
}

func newHolder(session string) *holder {
	return &holder{session: session, changing: make(chan struct{}, 1), resources: map[string]held{}, streams: map[*subscription]bool{}}
}

// enter returns the holder of a session for a request, which is to leave it.
func (s *Subscriptions) enter(sessionID string) (*holder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.sessions[sessionID]
	if h == nil {
		if len(s.sessions) >= maxSubscribedSessions {
			return nil, fault.New(fault.KindRateLimited, fault.CodeRateLimited, "too many sessions are subscribed to resources: try again later")
		}
		h = newHolder(sessionID)
		s.sessions[sessionID] = h
	}
	h.requests++
	return h, nil
}

// leave takes a request or a stream out of a session. One that holds nothing
// is forgotten, and one without a stream expires.
func (s *Subscriptions) leave(h *holder, takeOut func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	takeOut()
	switch {
	case h.over || h.inUse():
	case len(h.resources) == 0:
		s.forget(h)
	case h.expiry == nil:
		h.expiry = time.AfterFunc(SessionGrace, s.tasks.Func("end of session subscriptions", func() { s.expire(h) }))
	default:
		h.expiry.Reset(SessionGrace)
	}
}

func (h *holder) inUse() bool { return len(h.streams) > 0 || h.requests > 0 }

func (s *Subscriptions) expire(h *holder) {
	s.mu.Lock()
	used := h.inUse()
	s.mu.Unlock()
	if !used {
		s.end(h)
	}
}

// subscribe makes a holder one of those who hear of a resource.
func (s *Subscriptions) subscribe(ctx context.Context, h *holder, server *toolset.Server, uri string) error {
	s.mu.Lock()
	_, known := h.resources[uri]
	full := len(h.resources)+h.asking >= MaxResourcesPerClient
	if !known && !full {
		h.asking++
	}
	s.mu.Unlock()
	if known {
		return nil
	}
	if full {
		return fault.New(fault.KindRateLimited, fault.CodeRateLimited, "a client can be subscribed to %d resources: unsubscribe from another one first", MaxResourcesPerClient)
	}
	release, err := s.resources.Subscribe(ctx, server.Target, uri)
	s.mu.Lock()
	h.asking--
	_, known = h.resources[uri]
	over := h.over
	if err == nil && !known && !over {
		s.add(h, uri, held{serverID: server.Config.ID, release: release})
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
		return fault.New(fault.KindNotFound, fault.CodeNotFound, "the session has ended")
	}
	return nil
}

func (s *Subscriptions) add(h *holder, uri string, what held) {
	h.resources[uri] = what
	byURI := s.holders[what.serverID]
	if byURI == nil {
		byURI = map[string]map[*holder]bool{}
		s.holders[what.serverID] = byURI
	}
	if byURI[uri] == nil {
		byURI[uri] = map[*holder]bool{}
	}
	byURI[uri][h] = true
}

// remove takes a resource from a holder and returns how to release it, or nil.
func (s *Subscriptions) remove(h *holder, uri string) func() {
	what, ok := h.resources[uri]
	if !ok {
		return nil
	}
	delete(h.resources, uri)
	byURI := s.holders[what.serverID]
	delete(byURI[uri], h)
	if len(byURI[uri]) == 0 {
		delete(byURI, uri)
	}
	if len(byURI) == 0 {
		delete(s.holders, what.serverID)
	}
	return what.release
}

// unsubscribe ends one subscription of a holder, if there is one.
func (s *Subscriptions) unsubscribe(h *holder, uri string) {
	s.mu.Lock()
	release := s.remove(h, uri)
	s.mu.Unlock()
	if release != nil {
		release()
	}
}

// forget takes a holder out of use.
func (s *Subscriptions) forget(h *holder) {
	h.over = true
	if h.expiry != nil {
		h.expiry.Stop()
	}
	if s.sessions[h.session] == h {
		delete(s.sessions, h.session)
	}
}

// end ends every subscription of a holder.
func (s *Subscriptions) end(h *holder) {
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
