package upstreamtest

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
)

// stream is an open event stream for messages outside of requests: a GET stream
// of a session era, or subscriptions/listen of the stateless one.
type stream struct {
	session *session // nil without sessions and in the stateless era
	listen  *listen  // only in the stateless era
	frames  chan frame
	gone    context.Context // ends when the client is gone
	leave   context.CancelFunc
	ending  chan struct{} // closed to end the stream from this side
	endOnce sync.Once
}

// listen contains the subscriptions of a subscriptions/listen request.
type listen struct {
	id                        []byte
	tools, prompts, resources bool
	uris                      []string
	tasks                     []string
}

func (s *Server) openStream(ctx context.Context, v *session, l *listen) *stream {
	t := &stream{session: v, listen: l, frames: make(chan frame, streamBuffer), ending: make(chan struct{})}
	t.gone, t.leave = context.WithCancel(ctx)
	s.mu.Lock()
	s.streams[t] = struct{}{}
	s.mu.Unlock()
	if v != nil {
		v.mu.Lock()
		old := v.stream
		v.stream = t
		v.mu.Unlock()
		if old != nil { // a message is sent on one stream only; the client reads the newest one
			old.finish()
		}
	}
	s.events.signal()
	return t
}

func (s *Server) closeStream(t *stream) {
	t.leave()
	if v := t.session; v != nil {
		v.mu.Lock()
		if v.stream == t {
			v.stream = nil
		}
		v.mu.Unlock()
	}
	s.mu.Lock()
	delete(s.streams, t)
	s.mu.Unlock()
	s.events.signal()
}

func (t *stream) finish() { t.endOnce.Do(func() { close(t.ending) }) }

// push queues a frame and blocks while the reader is slow. It returns false if
// the client is gone.
func (t *stream) push(f frame) bool {
	select {
	case t.frames <- f:
		return true
	case <-t.gone.Done():
		return false
	}
}

// offer queues a notification. A stream that can't keep up is ended.
func (t *stream) offer(m []byte) bool {
	select {
	case t.frames <- frame{head: m}:
		return true
	case <-t.gone.Done():
	default:
		t.finish()
	}
	return false
}

// Notify sends a notification on every open stream that subscribed to it and
// returns the number of those. GET streams receive everything; a
// subscriptions/listen stream receives its subscriptions, tagged with its id.
func (s *Server) Notify(method string, params []byte) int {
	return s.notify(func(*stream) bool { return true }, method, params)
}

// notify is like Notify for the streams that to selects.
func (s *Server) notify(to func(*stream) bool, method string, params []byte) int {
	s.mu.Lock()
	open := make([]*stream, 0, len(s.streams))
	for t := range s.streams {
		if to(t) {
			open = append(open, t)
		}
	}
	s.mu.Unlock()
	n := 0
	for _, t := range open {
		p := params
		if t.listen != nil {
			if !t.listen.wants(method, params) {
				continue
			}
			if p == nil {
				p = []byte("{}")
			}
			p = withMeta(p, metaSubscription, t.listen.id)
		}
		if t.offer(notification(method, p)) {
			n++
		}
	}
	return n
}

// CloseStreams ends every open stream gracefully; a subscriptions/listen
// request receives its result. It returns the number of streams.
func (s *Server) CloseStreams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.streams {
		t.finish()
	}
	return len(s.streams)
}

func (l *listen) wants(method string, params []byte) bool {
	switch method {
	case "notifications/tools/list_changed":
		return l.tools
	case "notifications/prompts/list_changed":
		return l.prompts
	case "notifications/resources/list_changed":
		return l.resources
	case "notifications/resources/updated":
		o, err := rawjson.ParseObject(params, rawjson.Lenient)
		if err != nil {
			return false
		}
		uri, _ := o.String("uri")
		return slices.Contains(l.uris, uri)
	case "notifications/tasks":
		o, err := rawjson.ParseObject(params, rawjson.Lenient)
		if err != nil {
			return false
		}
		id, _ := o.String("taskId")
		return slices.Contains(l.tasks, id)
	}
	return false
}

// pump writes the frames of a stream until one side ends it. It returns true if
// the server ended it, after writing all queued frames.
func (s *Server) pump(w http.ResponseWriter, t *stream) bool {
	rc := http.NewResponseController(w)
	write := func(f frame) bool {
		if rc.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) != nil {
			return false
		}
		if f.writeEvent(w, "") != nil || rc.Flush() != nil {
			return false
		}
		if f.half {
			cutConnection(w, false)
		}
		return !f.half
	}
	return s.drain(t, write, func() bool {
		if rc.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) != nil {
			return false
		}
		_, err := io.WriteString(w, ": keep-alive\n\n")
		return err == nil && rc.Flush() == nil
	})
}

// drain passes the frames of a stream to write until one side ends it, and calls
// ping in regular intervals. It returns true if the server ended it, after
// writing all queued frames.
func (s *Server) drain(t *stream, write func(frame) bool, ping func() bool) bool {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	var over <-chan struct{}
	if t.session != nil {
		over = t.session.ctx.Done()
	}
	for {
		select {
		case f := <-t.frames:
			if !write(f) {
				return false
			}
			continue
		case <-alive.C:
			if !ping() {
				return false
			}
			continue
		case <-t.gone.Done():
			return false
		case <-t.ending:
		case <-over:
		case <-s.life.Done():
		}
		for {
			select {
			case f := <-t.frames:
				if !write(f) {
					return false
				}
			default:
				return true
			}
		}
	}
}

// takesGet reports whether GET is supported for this request.
func (s *Server) takesGet(r *http.Request) bool {
	if Era(r.Header.Get("Mcp-Protocol-Version")).Stateless() {
		return false
	}
	return s.eras.httpSSE || len(s.eras.sessions) > 0 && !s.opts.NoStream
}

func (s *Server) takesDelete(r *http.Request) bool {
	return len(s.eras.sessions) > 0 && !s.opts.Sessionless && !Era(r.Header.Get("Mcp-Protocol-Version")).Stateless()
}

func (s *Server) notAllowed(w http.ResponseWriter, r *http.Request) {
	var allow []string
	if s.takesGet(r) {
		allow = append(allow, http.MethodGet)
	}
	if len(s.eras.sessions)+len(s.eras.modern) > 0 {
		allow = append(allow, http.MethodPost)
	}
	if s.takesDelete(r) {
		allow = append(allow, http.MethodDelete)
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
}

// get opens an event stream: of a session if its id is given, otherwise of
// HTTP+SSE if that is supported.
func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	if _, sse := accepts(r); !sse {
		http.Error(w, "Not Acceptable: the client must accept text/event-stream", http.StatusNotAcceptable)
		return
	}
	id := r.Header.Get("Mcp-Session-Id")
	streamable := len(s.eras.sessions) > 0 && !s.opts.NoStream
	switch {
	case id == "" && s.eras.httpSSE:
		s.serveHTTPSSE(w, r)
		return
	case !streamable:
		s.notAllowed(w, r)
		return
	case s.opts.Sessionless:
		s.serveStream(w, r, nil)
		return
	case id == "":
		http.Error(w, "Bad Request: Mcp-Session-Id header is required", http.StatusBadRequest)
		return
	}
	v := s.lookup(id, false)
	if v == nil {
		http.Error(w, "Session not found", http.StatusNotFound)
		return
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" && s.opts.Resumable {
		s.resume(w, r, v, last)
		return
	}
	s.serveStream(w, r, v)
}

func (s *Server) serveStream(w http.ResponseWriter, r *http.Request, v *session) {
	t := s.openStream(r.Context(), v, nil) // before the client is notified of it
	defer s.closeStream(t)
	startEvents(w)
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	s.pump(w, t)
}

func startEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// accepts reports which of the two response types the client accepts.
func accepts(r *http.Request) (json, sse bool) {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				sse = true
			case "*/*":
				json, sse = true, true
			}
		}
	}
	return json, sse
}
