package upstreamtest

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"sync"

	"mcpgateway/services/rawjson"
)

// session is the state of a client in the session eras. A session of HTTP+SSE
// ends with its GET stream.
type session struct {
	id      string
	httpSSE bool
	ctx     context.Context // ends with the session
	end     context.CancelFunc
	slots   chan struct{} // limits the requests in flight over HTTP+SSE

	mu             sync.Mutex
	version        string
	stream         *stream                       // the stream for messages of the server, or nil
	calls          map[string]context.CancelFunc // by raw request id
	clientRequests map[string]chan []byte        // by raw id of a request to the client
	nextAsk        int64
	logs           []*eventLog // resumable streams, oldest first
	nextLog        int64
}

// openSession returns a new session, or nil if there are too many.
func (s *Server) openSession(version string, httpSSE bool) *session {
	v := &session{id: rand.Text(), version: version, httpSSE: httpSSE, calls: map[string]context.CancelFunc{}, clientRequests: map[string]chan []byte{}}
	v.ctx, v.end = context.WithCancel(s.life)
	if httpSSE {
		v.slots = make(chan struct{}, maxInFlight)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= maxSessions {
		v.end()
		return nil
	}
	s.sessions[v.id] = v
	return v
}

// lookup returns the open session with the id, or nil.
func (s *Server) lookup(id string, httpSSE bool) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.sessions[id]; v != nil && v.httpSSE == httpSSE {
		return v
	}
	return nil
}

// closeSession ends the session with its stream and calls. It returns false if
// it was not open.
func (s *Server) closeSession(v *session) bool {
	s.mu.Lock()
	_, open := s.sessions[v.id]
	delete(s.sessions, v.id)
	s.mu.Unlock()
	v.end()
	s.events.signal()
	return open
}

// DropSessions drops every session, like a restarted server: its streams end
// and later requests with its id get HTTP 404. It returns the number of
// sessions.
func (s *Server) DropSessions() int {
	s.mu.Lock()
	dropped := s.sessions
	s.sessions = map[string]*session{}
	s.mu.Unlock()
	for _, v := range dropped {
		v.end()
	}
	s.events.signal()
	return len(dropped)
}

func (v *session) era() Era {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Era(v.version)
}

func (v *session) setVersion(version string) {
	v.mu.Lock()
	v.version = version
	v.mu.Unlock()
}

// begin returns the context of a request with this id, which the client can
// cancel. done must be called.
func (v *session) begin(id []byte) (ctx context.Context, done func()) {
	call, cancel := context.WithCancel(v.ctx)
	key := string(id)
	v.mu.Lock()
	v.calls[key] = cancel
	v.mu.Unlock()
	return call, func() {
		v.mu.Lock()
		delete(v.calls, key)
		v.mu.Unlock()
		cancel()
	}
}

// notify sends a message on the session's stream. It returns ErrNoStream if
// there is none.
func (v *session) notify(m []byte) error {
	v.mu.Lock()
	t := v.stream
	v.mu.Unlock()
	if t == nil || !t.push(frame{head: m}) {
		return ErrNoStream
	}
	return nil
}

// expect returns the raw id for a request to the client and the channel of its
// response.
func (v *session) expect() (id []byte, answer <-chan []byte) {
	ch := make(chan []byte, 1)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.nextAsk++
	id = rawjson.Quote("server-" + strconv.FormatInt(v.nextAsk, 10))
	v.clientRequests[string(id)] = ch
	return id, ch
}

func (v *session) forget(id []byte) {
	v.mu.Lock()
	delete(v.clientRequests, string(id))
	v.mu.Unlock()
}

// receive handles a notification or response of the client.
func (v *session) receive(m *message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if m.method == "" {
		if ch := v.clientRequests[string(m.id)]; ch != nil {
			delete(v.clientRequests, string(m.id))
			ch <- m.raw // buffered, and sent to only once
		}
		return
	}
	if m.method == "notifications/cancelled" {
		if cancel := v.calls[string(m.params.Get("requestId"))]; cancel != nil {
			cancel()
		}
	}
}

// delete ends a session at the client's request.
func (s *Server) delete(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		http.Error(w, "Bad Request: Mcp-Session-Id header is required", http.StatusBadRequest)
		return
	}
	v := s.lookup(id, false)
	if v == nil || !s.closeSession(v) {
		http.Error(w, "Session not found", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
