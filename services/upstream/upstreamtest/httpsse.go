package upstreamtest

import (
	"io"
	"net/http"
)

// serveHTTPSSE opens a session of the HTTP+SSE transport (2024-11-05). The
// first event contains the URL for POSTs; all responses are sent on this
// stream.
func (s *Server) serveHTTPSSE(w http.ResponseWriter, r *http.Request) {
	v := s.openSession(string(Era20241105), true)
	if v == nil {
		http.Error(w, "too many sessions", http.StatusServiceUnavailable)
		return
	}
	defer s.closeSession(v)
	startEvents(w)
	if _, err := io.WriteString(w, "event: endpoint\ndata: "+s.opts.Path+"?sessionId="+v.id+"\n\n"); err != nil {
		return
	}
	t := s.openStream(r.Context(), v, nil) // before the client can post
	defer s.closeStream(t)
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	s.pump(w, t)
}

// postHTTPSSE receives a message of an HTTP+SSE session. The response is sent
// on the session's stream.
func (s *Server) postHTTPSSE(w http.ResponseWriter, r *http.Request, body []byte) {
	m, bad := decode(body)
	s.record(r, body, &m)
	v := s.lookup(r.URL.Query().Get("sessionId"), true)
	if v == nil {
		http.Error(w, "Session not found", http.StatusNotFound)
		return
	}
	v.mu.Lock()
	t := v.stream
	v.mu.Unlock()
	if t == nil {
		http.Error(w, "Session not found", http.StatusNotFound)
		return
	}
	if bad != nil {
		writeRPCError(w, http.StatusBadRequest, m.id, bad)
		return
	}
	b := s.now.Load()
	hit, wait := b.fault(stageOf(&m), m.method)
	if hit.is(Status, Reset, Disconnect, Redirect) || !m.isRequest() {
		if s.sleep(r.Context(), wait) && !s.breakHTTP(w, r, hit, m.id) {
			v.receive(&m)
			w.WriteHeader(http.StatusAccepted)
		}
		return
	}
	select {
	case v.slots <- struct{}{}:
	default:
		http.Error(w, "too many unanswered requests", http.StatusTooManyRequests)
		return
	}
	if !s.enter() {
		<-v.slots
		http.Error(w, "the server is closed", http.StatusServiceUnavailable)
		return
	}
	header := r.Header.Clone() // outlives the request
	ctx, done := v.begin(m.id)
	go func() {
		defer s.leave()
		defer func() { <-v.slots }()
		defer done()
		if !s.sleep(ctx, wait) {
			return
		}
		if hit.is(Hang) {
			<-ctx.Done()
			return
		}
		c := s.newCall(&m, v.era(), v, header, streamReply{t})
		if m.method != "initialize" {
			s.respond(ctx, c, hit, b)
			return
		}
		offered, _ := m.params.String("protocolVersion")
		version := s.eras.negotiate(offered, true)
		v.setVersion(version)
		s.answerHandshake(ctx, c, hit, b, version)
	}()
	w.WriteHeader(http.StatusAccepted)
}
