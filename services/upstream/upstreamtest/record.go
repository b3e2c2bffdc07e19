package upstreamtest

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// Recorded is a received HTTP request, or a line over standard input.
type Recorded struct {
	Seq        int64  // 1 for the first request
	HTTPMethod string // POST, GET, DELETE, …; empty for a line
	Query      url.Values
	Header     http.Header
	Body       []byte // the first MiB
	Method     string // JSON-RPC method; empty for a response, a batch and unreadable bodies
	ID         []byte // raw JSON-RPC id, or nil
}

// recorder stores the last requests.
type recorder struct {
	mu   sync.Mutex
	seq  int64
	next int
	ring []Recorded
	max  int
}

// add stores a request. req is nil for a line.
func (r *recorder) add(req *http.Request, body []byte, m *message) {
	if r.max <= 0 {
		return
	}
	e := Recorded{Body: body[:min(len(body), maxRecordedBody)]}
	if req != nil {
		e.HTTPMethod, e.Query, e.Header = req.Method, req.URL.Query(), req.Header
	}
	if m != nil {
		e.Method, e.ID = m.method, m.id
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	e.Seq = r.seq
	if len(r.ring) < r.max {
		r.ring = append(r.ring, e)
		return
	}
	r.ring[r.next] = e
	r.next = (r.next + 1) % r.max
}

// Requests returns the received requests, oldest first, up to the limit of
// Options.Record. With methods it returns only those JSON-RPC methods. Without,
// it omits subscriptions/listen, which clients send at undefined times.
func (s *Server) Requests(methods ...string) []Recorded {
	r := &s.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Recorded, 0, len(r.ring))
	for i := range r.ring {
		e := r.ring[(r.next+i)%len(r.ring)]
		if len(methods) == 0 && e.Method != "subscriptions/listen" || slices.Contains(methods, e.Method) {
			out = append(out, e)
		}
	}
	return out
}

// ForgetRequests deletes the recorded requests.
func (s *Server) ForgetRequests() {
	r := &s.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring, r.next = nil, 0
}

// Wait returns nil as soon as cond holds. It checks after every request, start
// or end of a call, and opening or closing of a stream. If ctx ends first, it
// returns the context's error.
func (s *Server) Wait(ctx context.Context, cond func() bool) error {
	s.events.waiters.Add(1)
	defer s.events.waiters.Add(-1)
	for {
		changed := s.events.next()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// WaitForRequests waits until n requests of the JSON-RPC method are recorded
// and returns them.
func (s *Server) WaitForRequests(ctx context.Context, method string, n int) ([]Recorded, error) {
	var got []Recorded
	err := s.Wait(ctx, func() bool {
		got = s.Requests(method)
		return len(got) >= n
	})
	return got, err
}

// WaitForStreams waits until exactly n streams for notifications are open: GET
// streams and subscriptions/listen streams.
func (s *Server) WaitForStreams(ctx context.Context, n int) error {
	return s.Wait(ctx, func() bool { return s.Stats().Streams == n })
}
