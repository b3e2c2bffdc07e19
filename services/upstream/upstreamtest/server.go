package upstreamtest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// behaviour contains the settings that can change at runtime. A request uses
// one value throughout.
type behaviour struct {
	answer ResponseMode
	page   int
	tools  *toolTable
	faults []*activeFault
}

// Server is a scriptable MCP server. It is safe for concurrent use. Close it
// when it is no longer needed.
type Server struct {
	opts     Options
	eras     eras
	info     []byte          // serverInfo
	infoMeta []byte          // the _meta with only that
	life     context.Context // ends with Close
	endLife  context.CancelFunc
	recorder recorder
	events   events
	now      atomic.Pointer[behaviour]

	requests, calls, cancelled atomic.Int64

	mu       sync.Mutex
	closed   bool
	active   int // running handlers and goroutines
	sessions map[string]*session
	streams  map[*stream]struct{}
	held     []net.Conn // connections of an accept fault
	serving  []*serving

	tasks     map[string]*Task
	taskCount int
}

// Stats are the counters of a server.
type Stats struct {
	Requests  int64 `json:"requests"`  // HTTP requests
	Calls     int64 `json:"calls"`     // tools/call requests that reached a tool or failed to find one
	Cancelled int64 `json:"cancelled"` // requests cancelled before the response
	Sessions  int   `json:"sessions"`  // open
	Streams   int   `json:"streams"`   // GET and subscriptions/listen open streams
}

// New returns a server with the given options. It is an http.Handler; Start and
// Listen serve it on a separate address.
func New(opts Options) *Server {
	s := &Server{opts: opts.withDefaults(), sessions: map[string]*session{}, streams: map[*stream]struct{}{}}
	s.eras = splitEras(s.opts.Eras)
	s.recorder.max = s.opts.Record
	s.info = s.opts.serverInfo()
	s.infoMeta = metaOf(metaServerInfo, s.info)
	s.life, s.endLife = context.WithCancel(context.Background())
	s.now.Store(&behaviour{answer: s.opts.Answer, page: s.opts.PageSize, tools: newToolTable(s.opts.Tools, s.opts.PageSize)})
	return s
}

// change replaces the behaviour by a modified copy.
func (s *Server) change(edit func(*behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := *s.now.Load()
	edit(&b)
	s.now.Store(&b)
}

// SetTools replaces the tools and announces the change on every open stream
// that subscribed to it. It returns the number of those.
func (s *Server) SetTools(tools ...Tool) int {
	s.change(func(b *behaviour) { b.tools = newToolTable(tools, b.page) })
	return s.Notify("notifications/tools/list_changed", nil)
}

// SetPageSize changes the number of tools per page of tools/list; 0 means all.
// Cursors of old pages become invalid.
func (s *Server) SetPageSize(n int) {
	s.change(func(b *behaviour) {
		b.page = n
		b.tools = newToolTable(b.tools.list, n)
	})
}

// SetAnswer changes the format of Streamable HTTP responses.
func (s *Server) SetAnswer(mode ResponseMode) { s.change(func(b *behaviour) { b.answer = mode }) }

// Calls returns the number of tools/call requests.
func (s *Server) Calls() int64 { return s.calls.Load() }

// Stats returns the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Requests: s.requests.Load(), Calls: s.calls.Load(), Cancelled: s.cancelled.Load(),
		Sessions: len(s.sessions), Streams: len(s.streams),
	}
}

// enter registers a handler. It returns false if the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.active++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	s.active--
	s.mu.Unlock()
	s.events.signal()
}

// Close ends every stream, call and listener and waits for the handlers, for at
// most 2 s if one ignores its context. Later requests get HTTP 503.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	serving := s.serving
	s.serving = nil
	s.mu.Unlock()

	s.endLife()
	s.DropSessions()
	s.dropHeld()
	s.waitIdle()
	for _, v := range serving {
		v.close()
	}
	s.waitIdle()
}

// waitIdle waits until no handler is running, at most for the grace period: one
// may be blocked in a write.
func (s *Server) waitIdle() {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	_ = s.Wait(ctx, func() bool { // handlers still running then are abandoned
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.active == 0
	})
}

// ServeHTTP handles requests to Options.Path. Any other path is 404.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != s.opts.Path {
		http.NotFound(w, r)
		return
	}
	if !s.enter() {
		http.Error(w, "the server is closed", http.StatusServiceUnavailable)
		return
	}
	defer s.leave()
	s.requests.Add(1)

	if o := r.Header.Get("Origin"); o != "" && !loopbackOrigin(o) {
		s.record(r, nil, nil)
		http.Error(w, "Forbidden: this Origin may not use the server", http.StatusForbidden)
		return
	}
	if !s.authorized(r) {
		s.record(r, nil, nil)
		w.Header().Set("WWW-Authenticate", s.opts.Challenge)
		http.Error(w, "Unauthorized: a valid bearer token is required", http.StatusUnauthorized)
		return
	}
	switch {
	case r.Method == http.MethodPost:
		s.post(w, r)
	case r.Method == http.MethodGet && s.takesGet(r):
		s.record(r, nil, nil)
		if !s.applyFault(w, r, OnStream, "") {
			s.get(w, r)
		}
	case r.Method == http.MethodDelete && s.takesDelete(r):
		s.record(r, nil, nil)
		if !s.applyFault(w, r, OnDelete, "") {
			s.delete(w, r)
		}
	default:
		s.record(r, nil, nil)
		s.notAllowed(w, r)
	}
}

func (s *Server) record(r *http.Request, body []byte, m *message) {
	s.recorder.add(r, body, m)
	s.events.signal()
}

func (s *Server) authorized(r *http.Request) bool {
	if s.opts.Authorize != nil {
		return s.opts.Authorize(r)
	}
	if s.opts.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && token == s.opts.Token
}

// applyFault applies a fault to a request without a message. It returns true if it
// handled the request.
func (s *Server) applyFault(w http.ResponseWriter, r *http.Request, stage, method string) bool {
	hit, wait := s.now.Load().fault(stage, method)
	if !s.sleep(r.Context(), wait) {
		return true
	}
	return s.breakHTTP(w, r, hit, nil)
}

// sleep waits for d. It returns false if ctx or the server ended first.
func (s *Server) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.life.Done():
	}
	return false
}
