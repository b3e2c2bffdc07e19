//go:build linux || darwin

package bridge

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	wiring "mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// session is a session of a client with a process. Its fields are guarded by
// peer.mu.
type session struct {
	id    string
	peer  *peer
	sink  *sink         // of its GET stream
	ended chan struct{} // closed at its end

	stream     chan struct{} // closed when another GET stream replaces this one; nil without one
	level      int           // minimum level of log messages; -1 means that none was set
	subscribed map[string]bool
	used       time.Time // end of the last call
}

// initialize starts a session.
func (b *Bridge) initialize(w http.ResponseWriter, r *http.Request, m wire.Message) {
	of, err := b.offerOf(m.Params)
	if err != nil {
		fail(w, http.StatusOK, m.ID, upstream.CodeInvalidParams, err.Error())
		return
	}
	id, key := rand.Text(), of
	if b.options.Entry().PerClient {
		key = id + " " + of
		b.takeSpare(of, key)
	}
	p := b.acquire(w, r, m.ID, key)
	if p == nil {
		return
	}
	defer p.process.Release()
	if p.initialized.RPCError != nil {
		writeJSON(w, http.StatusOK, m.ID, nil, p.initialized.RPCError)
		p.process.End()
		return
	}
	if !b.addSession(id, p) {
		refuse(w, m.ID, strconv.Itoa(wiring.MaxSessions)+" sessions are in use, the maximum")
		return
	}
	w.Header().Set(wire.HeaderSession, id)
	writeJSON(w, http.StatusOK, m.ID, p.initialized.Result, nil)
}

// takeSpare assigns the key of a new session to the process that no client has, if it
// was initialized with the same offer.
func (b *Bridge) takeSpare(of, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spare != nil && b.spare.offer == of && b.spare.process.Hash() == b.options.Entry().Hash() {
		b.spare.process.Assign(key)
		b.spare = nil
	}
}

// addSession adds a session of a process. In a full process it replaces the one that
// has been idle for the longest time. It reports false if none is idle.
func (b *Bridge) addSession(id string, p *peer) bool {
	s := &session{id: id, peer: p, sink: newSink(), ended: make(chan struct{}), level: -1, subscribed: map[string]bool{}, used: time.Now()}
	p.mu.Lock()
	var oldest *session
	if len(p.sessions) >= wiring.MaxSessions {
		if oldest = p.idlest(); oldest == nil {
			p.mu.Unlock()
			return false
		}
	}
	p.sessions[id] = s
	p.mu.Unlock()
	b.mu.Lock()
	b.sessions[id] = s
	b.mu.Unlock()
	if oldest != nil {
		oldest.end()
	}
	if s.isOver() { // its process ended first
		s.remove()
	}
	return true
}

// idlest returns the session without calls and streams that has been idle for the
// longest time, or nil. The caller must hold mu.
func (p *peer) idlest() *session {
	busy := map[*session]bool{}
	for c := range p.calls {
		busy[c.session] = true
	}
	var oldest *session
	for _, s := range p.sessions {
		if !busy[s] && s.stream == nil && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	return oldest
}

// withSession handles a request of a session, or responds that there is none.
func (b *Bridge) withSession(w http.ResponseWriter, r *http.Request, id []byte, use func(*session)) {
	name := r.Header.Get(wire.HeaderSession)
	if name == "" {
		fail(w, http.StatusBadRequest, id, codeInvalidRequest, "The header Mcp-Session-Id is missing.")
		return
	}
	b.mu.Lock()
	s := b.sessions[name]
	b.mu.Unlock()
	if s == nil || s.isOver() {
		fail(w, http.StatusNotFound, id, codeUnknownSession, "Session not found.")
		return
	}
	use(s)
}

// isOver reports whether the session or its process has ended.
func (s *session) isOver() bool {
	select {
	case <-s.ended:
	case <-s.peer.process.Done():
	case <-s.peer.conn.Done():
	default:
		return false
	}
	return true
}

// remove removes the session and ends its streams. It reports false if it was
// removed already.
func (s *session) remove() bool {
	b, p := s.peer.bridge, s.peer
	b.mu.Lock()
	delete(b.sessions, s.id)
	b.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[s.id] != s {
		return false
	}
	delete(p.sessions, s.id)
	for c := range p.calls {
		if c.session == s {
			c.cancel()
		}
	}
	close(s.ended)
	return true
}

// end ends the session. The process of one client ends too; others end the
// subscriptions that only this session had.
func (s *session) end() {
	if !s.remove() {
		return
	}
	p := s.peer
	if p.perClient {
		p.process.End()
		return
	}
	p.unsubscribe(s)
}

// listen serves the GET stream of the session. It replaces an earlier one.
func (s *session) listen(w http.ResponseWriter, r *http.Request) {
	replaced := make(chan struct{})
	s.peer.mu.Lock()
	if s.stream != nil {
		close(s.stream)
	}
	s.stream = replaced
	s.peer.mu.Unlock()
	defer func() {
		s.peer.mu.Lock()
		defer s.peer.mu.Unlock()
		if s.stream == replaced {
			s.stream = nil
		}
	}()
	out := newOutput(w, r, nil, false)
	out.start()
	out.flush()
	for {
		select {
		case <-replaced:
			return
		default:
		}
		select {
		case <-s.sink.wake:
			out.send(s.sink.take())
		case <-replaced:
			return
		case <-s.ended:
			return
		case <-s.peer.process.Done():
			return
		case <-r.Context().Done():
			return
		}
	}
}
