// Package resume retains the latest events of streams and the result of their
// requests, so that clients can reconnect and receive what they missed (MCP
// 2025-11-25, "Resumability and Redelivery").
package resume

import (
	"bytes"
	"container/list"
	"context"
	"crypto/rand"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/secrets"
	"mcpgateway/web/sse"
)

// Limits for resuming streams.
const (
	maxEvents    = 32        // retained events of a stream
	maxBytes     = 256 << 10 // their total size
	maxMemory    = 64 << 20  // of all streams, with results
	finishedTime = 5 * time.Minute
	retry        = 2 * time.Second // before clients reconnect
	// entrySize is the memory counted for an event or a stream besides its data.
	entrySize = 256
	// pollTime is the time after which a waiting stream looks for its result
	// without a notification.
	pollTime = 10 * time.Second
	// lateTime is the time for storing a result after the call's time-out.
	lateTime = time.Second
)

// messageEvent is the name of events with a JSON-RPC message.
const messageEvent = "message"

// Results stores results for all processes. Implemented by sessions.Finished.
type Results interface {
	Store(ctx context.Context, projectID, session, id string, response []byte)
	// Find returns the response stored for a request. It is empty if it can't be
	// delivered.
	Find(ctx context.Context, session, id string) (response []byte, found bool, err error)
	// End deletes the responses of a session.
	End(ctx context.Context, session string) error
	// Watch returns a channel that receives a value after a response of the
	// session may have been stored.
	Watch(session string) (changed <-chan struct{}, stop func())
}

// Client is the connection of a client. Implemented by sse.Stream.
type Client interface {
	Send(event string, data []byte) bool
	SendEvent(e *sse.Event) bool
	Offer(event, key string, data []byte)
	OfferEvent(e *sse.Event)
	EndWithEvent(e *sse.Event, sent func())
	End()
	Break()
	Done() <-chan struct{}
	Completed() bool
}

// Streams are the resumable streams of this process. It is safe for concurrent
// use.
type Streams struct {
	keys    *secrets.KeyRing
	results Results
	tasks   *background.Tasks
	memory  int64

	mu       sync.Mutex
	open     map[[16]byte]*Stream
	finished *list.List // of *finishedStream, oldest first
	used     int64
	expiry   *time.Timer // set while finished has entries
}

// finishedStream is a stream after its request.
type finishedStream struct {
	stream *Stream
	size   int64
	at     time.Time
}

// New returns Streams. Event ids are sealed with keys. tasks may be nil.
func New(keys *secrets.KeyRing, results Results, tasks *background.Tasks) *Streams {
	return &Streams{keys: keys, results: results, tasks: tasks, memory: maxMemory, open: map[[16]byte]*Stream{}, finished: list.New()}
}

// Request is a request whose response is a stream.
type Request struct {
	ProjectID string
	Session   string // key
	ID        []byte // raw
	Until     time.Time
}

// Begin returns a resumable stream without a client. Finish must be called.
func (s *Streams) Begin(r Request) *Stream {
	st := &Stream{streams: s, request: r, position: Position{session: hashOf(r.Session), until: r.Until, request: bytes.Clone(r.ID)}}
	_, _ = rand.Read(st.position.stream[:]) // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[st.position.stream] = st
	return st
}

// Open returns the position in an event id, the Last-Event-ID of a client. It
// returns INVALID_PARAMETER for an id that was not created for the session.
func (s *Streams) Open(id, session string) (*Position, error) {
	return parsePosition(s.keys, id, session)
}

// Resume sends the events after a position to a client, and then those that
// follow. If the stream isn't in this process, it sends the stored result, and
// waits for it until the call's time-out. gone is the response if there is none.
// The caller must call left after the client has disconnected.
func (s *Streams) Resume(ctx context.Context, client Client, session string, at *Position, gone []byte, tasks *background.Tasks) (left func()) {
	if st := s.find(at.stream); st != nil && st.attach(client, at.sequence) {
		return func() { st.Detach(client) }
	}
	client.SendEvent(&sse.Event{ID: at.token(s.keys), Retry: retry})
	ctx, cancel := context.WithCancel(ctx)
	tasks.Go("resumed stream", func() {
		defer cancel()
		response := s.await(ctx, session, at)
		if len(response) == 0 {
			response = gone
		}
		client.EndWithEvent(&sse.Event{ID: at.at(at.sequence+1, true).token(s.keys), Name: messageEvent, Data: [][]byte{response}}, nil)
	})
	return cancel
}

// await returns the response stored for a request. It returns nil if there is
// none after the call's time-out, or after the end of ctx.
func (s *Streams) await(ctx context.Context, session string, at *Position) []byte {
	changed, stop := s.results.Watch(session)
	defer stop()
	for {
		late := time.Until(at.until.Add(lateTime)) <= 0
		response, found, err := s.results.Find(ctx, session, at.row())
		if found || err != nil || late {
			return response
		}
		timer := time.NewTimer(max(time.Millisecond, min(pollTime, time.Until(at.until.Add(lateTime)))))
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// End deletes the stored responses of an ended session.
func (s *Streams) End(ctx context.Context, session string) {
	_ = s.results.End(ctx, session) // on an error they remain until they expire
}

func (s *Streams) find(id [16]byte) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return s.open[id]
}

// Held returns the memory in use in bytes.
func (s *Streams) Held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// reserve reserves n bytes and reports whether they fit. It removes the oldest
// finished streams if necessary.
func (s *Streams) reserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.used+n > s.memory && s.finished.Len() > 0 {
		s.evict()
	}
	if s.used+n > s.memory {
		return false
	}
	s.used += n
	return true
}

func (s *Streams) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// keep retains a stream of the given size after its request.
func (s *Streams) keep(st *Stream, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished.PushBack(&finishedStream{stream: st, size: size, at: time.Now()})
	if s.expiry == nil {
		s.expiry = time.AfterFunc(finishedTime, s.tasks.Func("expiry of resumable streams", func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.expire()
		}))
	}
}

// drop removes a stream whose result isn't retained.
func (s *Streams) drop(st *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, st.position.stream)
}

// expire removes the streams that finished finishedTime ago. The caller must
// hold mu.
func (s *Streams) expire() {
	for first := s.finished.Front(); first != nil; first = s.finished.Front() {
		if rest := finishedTime - time.Since(first.Value.(*finishedStream).at); rest > 0 {
			s.expiry.Reset(rest)
			return
		}
		s.evict()
	}
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
}

// evict removes the stream that finished first. The caller must hold mu.
func (s *Streams) evict() {
	gone := s.finished.Remove(s.finished.Front()).(*finishedStream)
	delete(s.open, gone.stream.position.stream)
	s.used -= gone.size
}
