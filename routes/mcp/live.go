package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"hash/maphash"
	"slices"
	"sync"

	"mcpgateway/routes/mcp/resume"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/web/sse"
)

// liveSessions are the sessions with an open stream, a running request or a
// request to the client in this process. Other sessions need no memory. They
// are sharded, so that calls of different sessions rarely wait for each other.
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

// liveSession is a session in use. A nil liveSession stands for a client without
// a session. The methods called for every request accept it and do nothing.
type liveSession struct {
	owner *liveShard
	key   string
	users int // guarded by owner.mu

	mu      sync.Mutex
	stream  *sessionStream
	pending map[string]chan *message // pending requests to the client, by raw id
	running []*runningCall           // rarely more than a few
	few     [2]*runningCall          // initial capacity of running
}

// sessionStream is the GET stream of a session.
type sessionStream struct {
	*sse.Stream
	free func() // releases its slot
}

// runningCall is a request of a client that can be cancelled by its id.
type runningCall struct {
	id        []byte // raw
	cancel    context.CancelFunc
	cancelled bool // by the client; guarded by liveSession.mu
}

// enter returns the session with the key. The caller must call leave.
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

// find returns the session with the key, or nil if it is not in use.
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

// begin records a running request. The caller must call done.
func (s *liveSession) begin(call *runningCall) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = append(s.running, call)
}

// done removes a request recorded by begin and reports whether the client
// cancelled it.
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

// cancel cancels the running request with the raw id, if it exists. The
// protocol forbids duplicate ids. If there are any, it cancels the latest.
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

// deliverResponse delivers a response of the client to the waiting request. Responses to
// unknown requests, or to those of another process, are dropped.
func (s *liveSession) deliverResponse(m *message) {
	if s == nil {
		return
	}
	s.mu.Lock()
	answer := s.pending[string(m.id)]
	delete(s.pending, string(m.id))
	s.mu.Unlock()
	if answer != nil {
		answer <- m // doesn't block: the channel is buffered and receives one message
	}
}

// request sends a request to the client on the stream and returns the raw result or
// error of its response. It returns UNAVAILABLE if it can't reach the client,
// RATE_LIMITED beyond maxAsks pending requests, or the context's error.
func (s *liveSession) request(ctx context.Context, stream *resume.Stream, method string, params []byte) (result, rpcError []byte, err error) {
	id, answer, err := s.expect()
	if err != nil {
		return nil, nil, err
	}
	defer s.forget(id)
	lost, ok := stream.Ask(appendRequest(nil, id, method, params))
	if !ok {
		return nil, nil, clientGone()
	}
	select {
	case m := <-answer:
		return m.result, m.rpcError, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-lost:
		return nil, nil, clientGone()
	}
}

func clientGone() error {
	return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "The client's stream closed before the client responded.")
}

func (s *liveSession) expect() (id []byte, answer <-chan *message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) >= maxAsks {
		return nil, nil, fault.New(fault.KindRateLimited, fault.CodeRateLimited, "%d requests are already waiting for this client. Retry later.", maxAsks)
	}
	id = rawjson.Quote(rand.Text()) // random, so that a response to an earlier request can't match
	c := make(chan *message, 1)
	if s.pending == nil {
		s.pending = map[string]chan *message{}
	}
	s.pending[string(id)] = c
	return id, c, nil
}

func (s *liveSession) forget(id []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, string(id))
}

// current returns the GET stream of the session, or nil.
func (s *liveSession) current() *sessionStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream
}

// push returns the gateway.Client.Push of a session.
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
		sendNotification(resume.Plain(stream.Stream), method, params)
		return true
	}
}

// swap sets the GET stream of the session and returns the previous one, or nil.
func (s *liveSession) swap(next *sessionStream) *sessionStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.stream
	s.stream = next
	return last
}

// dropStream removes the stream, unless another replaced it.
func (s *liveSession) dropStream(stream *sessionStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == stream {
		s.stream = nil
	}
}

// end closes the session's stream and cancels its requests.
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
