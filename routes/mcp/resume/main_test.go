package resume

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/secrets"
	"mcpgateway/web/sse"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const session = "a session's key"

// connection is a client that records its events.
type connection struct {
	mu        sync.Mutex
	ids, data []string
	ended     bool
	broken    bool // writes fail from now on
	done      chan struct{}
}

func newConnection() *connection { return &connection{done: make(chan struct{})} }

func (c *connection) SendEvent(e *sse.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.broken {
		return false
	}
	c.ids, c.data = append(c.ids, e.ID), append(c.data, string(bytes.Join(e.Data, nil)))
	return true
}

func (c *connection) EndWithEvent(e *sse.Event, sent func()) {
	c.SendEvent(e)
	c.End()
	if sent != nil {
		sent()
	}
}

func (c *connection) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.done)
	}
}

func (c *connection) Completed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended && !c.broken
}

func (c *connection) Send(_ string, data []byte) bool {
	return c.SendEvent(&sse.Event{Data: [][]byte{data}})
}
func (c *connection) Offer(event, _ string, data []byte) { c.Send(event, data) }
func (c *connection) OfferEvent(e *sse.Event)            { c.SendEvent(e) }
func (c *connection) Break()                             { c.End() }
func (c *connection) Done() <-chan struct{}              { return c.done }

// got returns the data of all events, separated by spaces. Events without data
// are "-".
func (c *connection) got() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for i, data := range c.data {
		if i > 0 {
			b.WriteByte(' ')
		}
		if data == "" {
			data = "-"
		}
		b.WriteString(data)
	}
	return b.String()
}

// lastID returns the id of the latest event.
func (c *connection) lastID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[len(c.ids)-1]
}

// store is a Results in memory.
type store struct {
	mu      sync.Mutex
	rows    map[string]string
	stored  int
	changed chan struct{}
}

func newStore() *store { return &store{rows: map[string]string{}, changed: make(chan struct{}, 1)} }

func (s *store) Store(_ context.Context, _, session, id string, response []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[session+id] = string(response)
	s.stored++
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *store) Find(_ context.Context, session, id string) (response []byte, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, found := s.rows[session+id]
	return []byte(text), found, nil
}

func (s *store) End(context.Context, string) error { return nil }

func (s *store) Watch(string) (changed <-chan struct{}, stop func()) { return s.changed, func() {} }

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored
}

func newStreams(t *testing.T, results Results) *Streams {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return New(ring, results, nil)
}

func request() Request {
	return Request{ProjectID: "p", Session: session, ID: []byte("7"), Until: time.Now().Add(time.Minute)}
}

// begin returns a stream with a client.
func begin(s *Streams) (*Stream, *connection) {
	st, c := s.Begin(request()), newConnection()
	st.Attach(c)
	return st, c
}

// resumed reconnects after the event with the id.
func resumed(t *testing.T, s *Streams, id string) (c *connection, left func()) {
	t.Helper()
	at, err := s.Open(id, session)
	if err != nil {
		t.Fatal(err)
	}
	c = newConnection()
	return c, s.Resume(t.Context(), c, session, at, []byte("gone"), nil)
}

func finish(st *Stream, response string) { st.Finish([][]byte{[]byte(response)}, func() {}) }

var _ Client = (*sse.Stream)(nil)
