package upstreamtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	"mcpgateway/services/rawjson"
)

// post handles a POST: a message of Streamable HTTP in any era, or of an
// HTTP+SSE session.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		s.record(r, nil, nil)
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("the body exceeds %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		}
		return // otherwise the client disconnected
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		s.record(r, body, nil)
		http.Error(w, "Unsupported Media Type: Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	if s.eras.httpSSE && r.URL.Query().Has("sessionId") {
		s.postHTTPSSE(w, r, body)
		return
	}
	if len(s.eras.sessions)+len(s.eras.modern) == 0 {
		s.record(r, body, nil)
		s.notAllowed(w, r)
		return
	}
	if json, sse := accepts(r); !json || !sse {
		s.record(r, body, nil)
		writeError(w, http.StatusNotAcceptable, nil, codeServer, "Not Acceptable: the client must accept both application/json and text/event-stream")
		return
	}
	if rawjson.Kind(body) == '[' {
		s.record(r, body, nil)
		s.postBatch(w, r, body)
		return
	}
	m, bad := decode(body)
	s.record(r, body, &m)
	if bad != nil {
		writeRPCError(w, http.StatusBadRequest, m.id, bad)
		return
	}
	b := s.now.Load()
	hit, wait := b.fault(stageOf(&m), m.method)
	if !s.sleep(r.Context(), wait) || s.breakHTTP(w, r, hit, m.id) {
		return
	}
	modern := Era(r.Header.Get("Mcp-Protocol-Version")).Stateless() || m.meta.Get(metaVersion) != nil
	switch {
	case modern && len(s.eras.modern) > 0:
		s.postModern(w, r, &m, hit, b)
	case len(s.eras.sessions) == 0:
		s.refuseHandshake(w, r, &m)
	default:
		s.postSession(w, r, &m, hit, b)
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limited := http.MaxBytesReader(w, r.Body, maxBody)
	if n := r.ContentLength; n > 0 && n <= maxBody {
		body := make([]byte, n)
		_, err := io.ReadFull(limited, body)
		return body, err
	}
	return io.ReadAll(limited)
}

// postSession handles a message of the session eras.
func (s *Server) postSession(w http.ResponseWriter, r *http.Request, m *message, hit *Fault, b *behaviour) {
	if m.method == "initialize" && m.isRequest() {
		s.handshake(w, r, m, hit, b)
		return
	}
	v, ok := s.sessionOf(w, r, m.id)
	if !ok {
		return
	}
	if !m.isRequest() {
		if v != nil {
			v.receive(m)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	era := s.eraOf(r, v)
	if v != nil && s.opts.Resumable && b.answer != AnswerJSON {
		s.serveResumable(w, r, v, m, era, hit, b)
		return
	}
	ctx, done := s.life, func() {}
	if v != nil {
		ctx, done = v.begin(m.id)
	}
	defer done()
	s.respond(ctx, s.newCall(m, era, v, r.Header, newReply(w, r, b, hit)), hit, b)
}

// eraOf returns the revision of a request in the session eras. Without a
// session it is that of the header, by default 2025-03-26.
func (s *Server) eraOf(r *http.Request, v *session) Era {
	if v != nil {
		return v.era()
	}
	if h := r.Header.Get("Mcp-Protocol-Version"); h != "" {
		return Era(h)
	}
	return Era20250326
}

func newReply(w http.ResponseWriter, r *http.Request, b *behaviour, hit *Fault) *httpReply {
	p := &httpReply{w: w, ctx: r.Context(), mode: b.answer, gzip: hit.is(Gzip)}
	if hit.is(EndlessSSE, SilentSSE) {
		p.mode = AnswerSSE
	}
	return p
}

// handshake responds to initialize with the negotiated revision and a new
// session.
func (s *Server) handshake(w http.ResponseWriter, r *http.Request, m *message, hit *Fault, b *behaviour) {
	if s.badVersion(w, r, m.id) {
		return
	}
	offered, ok := m.params.String("protocolVersion")
	if !ok {
		writeError(w, http.StatusOK, m.id, codeInvalidParams, "Invalid params: protocolVersion is required")
		return
	}
	version := s.eras.negotiate(offered, false)
	var v *session
	if !s.opts.Sessionless {
		if v = s.openSession(version, false); v == nil {
			http.Error(w, "too many sessions", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Mcp-Session-Id", v.id)
	}
	c := s.newCall(m, Era(version), v, r.Header, newReply(w, r, b, hit))
	s.answerHandshake(r.Context(), c, hit, b, version)
}

// answerHandshake sends the result of initialize, modified by hit.
func (s *Server) answerHandshake(ctx context.Context, c *Call, hit *Fault, b *behaviour, version string) {
	if hit == nil || hit.is(DropHalf, CutStream, EndlessPages, RepeatedCursor) || hit.is(Gzip) && hit.Bytes == 0 {
		c.reply.finish(frame{head: appendResult(nil, c.ID, s.initialize(version).JSON), half: hit.is(DropHalf)})
		return
	}
	if hit.is(WrongID) {
		c.reply.finish(frame{head: appendResult(nil, wrongID(c.ID), s.initialize(version).JSON)})
		return
	}
	s.respond(ctx, c, hit, b)
}

// sessionOf returns the session of a request, or nil in sessionless mode. ok is
// false if the request was rejected.
func (s *Server) sessionOf(w http.ResponseWriter, r *http.Request, id []byte) (v *session, ok bool) {
	if s.badVersion(w, r, id) {
		return nil, false
	}
	if s.opts.Sessionless {
		return nil, true
	}
	sid := r.Header.Get("Mcp-Session-Id")
	if sid == "" {
		writeError(w, http.StatusBadRequest, id, codeServer, "Bad Request: Mcp-Session-Id header is required")
		return nil, false
	}
	if v = s.lookup(sid, false); v == nil {
		writeError(w, http.StatusNotFound, id, codeSession, "Session not found")
		return nil, false
	}
	return v, true
}

// badVersion rejects an unsupported version header. A missing header means
// 2025-03-26 and is accepted.
func (s *Server) badVersion(w http.ResponseWriter, r *http.Request, id []byte) bool {
	h := r.Header.Get("Mcp-Protocol-Version")
	if h == "" || slices.Contains(s.eras.sessions, h) {
		return false
	}
	if len(s.eras.modern) > 0 {
		s.refuseVersion(w, id, h)
	} else {
		writeError(w, http.StatusBadRequest, id, codeServer, "Bad Request: Unsupported protocol version")
	}
	return true
}

// postBatch handles a batch, which only 2025-03-26 supports.
func (s *Server) postBatch(w http.ResponseWriter, r *http.Request, body []byte) {
	if len(s.eras.sessions) == 0 || Era(r.Header.Get("Mcp-Protocol-Version")).Stateless() {
		writeError(w, http.StatusBadRequest, nil, codeInvalidRequest, "Invalid request: batches are not supported")
		return
	}
	v, ok := s.sessionOf(w, r, nil)
	if !ok {
		return
	}
	if s.eraOf(r, v) != Era20250326 {
		writeError(w, http.StatusBadRequest, nil, codeInvalidRequest, "Invalid request: batches are only supported in 2025-03-26")
		return
	}
	list, bad := splitBatch(body)
	if bad != nil {
		writeRPCError(w, http.StatusBadRequest, nil, bad)
		return
	}
	var p batchReply
	s.runBatch(v, list, r.Header, &p)
	if p.out == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(w, http.StatusOK, append(append([]byte{'['}, p.out...), ']'))
}

// splitBatch returns the messages of a batch.
func splitBatch(body []byte) ([][]byte, *RPCError) {
	if rawjson.CheckDepth(body, maxDepth) != nil {
		return nil, &RPCError{Code: codeParse, Message: "Parse error: nested too deeply"}
	}
	list, err := rawjson.Elements(body, rawjson.Strict)
	switch {
	case err != nil:
		return nil, &RPCError{Code: codeParse, Message: "Parse error: " + err.Error()}
	case len(list) == 0 || len(list) > maxBatch:
		return nil, &RPCError{Code: codeInvalidRequest, Message: fmt.Sprintf("Invalid request: a batch holds 1 to %d messages", maxBatch)}
	}
	return list, nil
}

// runBatch handles the messages of a batch. v is nil in sessionless mode.
func (s *Server) runBatch(v *session, list [][]byte, h http.Header, p *batchReply) {
	b := s.now.Load()
	for _, raw := range list {
		m, bad := decode(raw)
		switch {
		case bad != nil:
			p.finish(frame{head: appendError(nil, m.id, bad)})
		case m.method == "initialize":
			p.finish(frame{head: appendError(nil, m.id, &RPCError{Code: codeInvalidRequest, Message: "Invalid request: initialize must not be part of a batch"})})
		case !m.isRequest():
			if v != nil {
				v.receive(&m)
			}
		default:
			s.respondInBatch(v, &m, h, p, b)
		}
	}
}

func (s *Server) respondInBatch(v *session, m *message, h http.Header, p *batchReply, b *behaviour) {
	ctx, done := s.life, func() {}
	if v != nil {
		ctx, done = v.begin(m.id)
	}
	defer done()
	s.respond(ctx, s.newCall(m, Era20250326, v, h, p), nil, b)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

func writeError(w http.ResponseWriter, status int, id []byte, code int, text string) {
	writeRPCError(w, status, id, &RPCError{Code: code, Message: text})
}

func writeRPCError(w http.ResponseWriter, status int, id []byte, e *RPCError) {
	writeJSON(w, status, appendError(nil, id, e))
}
