package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"hash/maphash"
	"slices"
	"sync"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/web/sse"
)

// liveSessions hold what is going on in this process for sessions: open
// streams, running requests and questions to the client. A session without
// any of them takes no room. They are spread over shards, so that calls of
// different sessions seldom wait for each other.
type liveSessions struct {
	seed   maphash.Seed
	shards [64]liveShard
}

type liveShard struct {
	mu   sync.Mutex
	live map[string]*liveSession // by the session's key
}

func newLiveSessions() *liveSessions {
	l := &liveSessions{seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].live = map[string]*liveSession{}
	}
	return l
}

func (l *liveSessions) shard(key string) *liveShard {
	return &l.shards[maphash.String(l.seed, key)%uint64(len(l.shards))]
}

// liveSession is a session while something goes on for it.
type liveSession struct {
	owner *liveShard
	key   string
	users int // guarded by owner.mu

	mu      sync.Mutex
	stream  *sessionStream
	asks    map[string]chan *message // by the raw id that we gave
	running []*runningCall           // seldom more than a few
	few     [2]*runningCall          // room for the first of them
}

// sessionStream is the stream of a session's GET.
type sessionStream struct {
	*sse.Stream
	free func() // its slot
}

// runningCall is a request of a client that can be cancelled by its id.
type runningCall struct {
	id        []byte // as the client wrote it
	cancel    context.CancelFunc
	cancelled bool // by the client; guarded by liveSession.mu
}

// enter returns the session with the key and keeps it until leave.
func (l *liveSessions) enter(key string) *liveSession {
	shard := l.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	s := shard.live[key]
	if s == nil {
		s = &liveSession{owner: shard, key: key}
		s.running = s.few[:0]
		shard.live[key] = s
	}
	s.users++
	return s
}

// find returns the session with the key, or nil when nothing goes on for it.
func (l *liveSessions) find(key string) *liveSession {
	shard := l.shard(key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	return shard.live[key]
}

func (s *liveSession) leave() {
	if s == nil {
		return
	}
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(s.owner.live, s.key)
	}
}

// begin notes a running request until done is called. Both may be called on
// nil, for a client without a session.
func (s *liveSession) begin(call *runningCall) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = append(s.running, call)
}

// done ends what begin noted and reports whether the client cancelled it.
func (s *liveSession) done(call *runningCall) (cancelled bool) {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.running, call); i >= 0 {
		s.running = slices.Delete(s.running, i, i+1)
	}
	return call.cancelled
}

// cancel cancels the running request with the raw id, if there is one; of
// several, which the protocol forbids, the last that began.
func (s *liveSession) cancel(id []byte) {
	if s == nil {
		return
	}
	s.mu.Lock()
	var call *runningCall
	for _, running := range s.running {
		if bytes.Equal(running.id, id) {
			call = running
		}
	}
	if call != nil {
		call.cancelled = true
	}
	s.mu.Unlock()
	if call != nil {
		call.cancel()
	}
}

// hear hands a response of the client to whoever asked for it. Responses to
// what nobody asked, or asked in another process, are dropped.
func (s *liveSession) hear(m *message) {
	if s == nil {
		return
	}
	s.mu.Lock()
	answer := s.asks[string(m.id)]
	delete(s.asks, string(m.id))
	s.mu.Unlock()
	if answer != nil {
		answer <- m // it has room for one, and one is all that comes
	}
}

// ask sends a request to the client on the stream and returns the raw result
// or error of its response. It returns UNAVAILABLE when the stream ends first,
// the context's error, and RATE_LIMITED when the client has too many questions
// already.
func (s *liveSession) ask(ctx context.Context, stream *sse.Stream, method string, params []byte) (result, rpcError []byte, err error) {
	id, answer, err := s.expect()
	if err != nil {
		return nil, nil, err
	}
	defer s.forget(id)
	if !stream.Send(messageEvent, appendRequest(nil, id, method, params)) {
		return nil, nil, clientGone()
	}
	select {
	case m := <-answer:
		return m.result, m.rpcError, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-stream.Over():
		return nil, nil, clientGone()
	}
}

func clientGone() error {
	return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "the client's stream ended before it answered")
}

func (s *liveSession) expect() (id []byte, answer <-chan *message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asks) >= maxAsks {
		return nil, nil, fault.New(fault.KindRateLimited, fault.CodeRateLimited, "%d requests wait for this client's answer already", maxAsks)
	}
	id = rawjson.Quote(rand.Text()) // so that an answer to an earlier question is never taken for this one's
	c := make(chan *message, 1)
	if s.asks == nil {
		s.asks = map[string]chan *message{}
	}
	s.asks[string(id)] = c
	return id, c, nil
}

func (s *liveSession) forget(id []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asks, string(id))
}

// current returns the stream of the session's GET, or nil.
func (s *liveSession) current() *sessionStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream
}

// push returns the Push of the clients of a session.
func (l *liveSessions) push(key string) func(method string, params []byte) bool {
	return func(method string, params []byte) bool {
		s := l.find(key)
		if s == nil {
			return false
		}
		stream := s.current()
		if stream == nil {
			return false
		}
		sendNotification(stream.Stream, method, params)
		return true
	}
}

// swap makes next the stream of the session's GET and returns the one before.
func (s *liveSession) swap(next *sessionStream) *sessionStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.stream
	s.stream = next
	return last
}

// dropStream forgets the stream, unless another took its place.
func (s *liveSession) dropStream(stream *sessionStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == stream {
		s.stream = nil
	}
}

// end ends the session's stream and cancels its requests.
func (s *liveSession) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	stream := s.stream
	calls := slices.Clone(s.running)
	s.mu.Unlock()
	if stream != nil {
		stream.End()
	}
	for _, call := range calls {
		call.cancel()
	}
}
