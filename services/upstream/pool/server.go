package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
	"mcpgateway/services/upstream/transport"
)

// server is the state of one upstream server: its era, sessions and health.
// Servers share nothing, so a hanging server does not delay the others.
type server struct {
	pool             *Pool
	admission        admission.Queue
	breaker          admission.Breaker
	lastNotification atomic.Int64 // time of the latest notification, in Unix nanoseconds

	mu        sync.Mutex
	version   int64 // configuration version of the sessions
	dropped   bool
	era       era
	stateless *session // shared by all clients of an upstream without sessions
	sessions  map[sessionKey]*session
	flights   map[sessionKey]*connectAttempt
	health    upstream.Health
	target    *upstream.Target // the newest one
	watchers  map[*watcher]bool
	resources map[string]*resource // resources with subscribers, by URI
	settling  map[string]bool      // URIs that a goroutine is reconciling
}

// connectAttempt is one attempt to connect, shared by all callers that need the
// session. It is cancelled when no caller waits for it.
type connectAttempt struct {
	done   chan struct{}
	cancel context.CancelFunc

	// Guarded by the server's mutex until done is closed.
	waiters int
	session *session
	err     error
}

var (
	errOutdated = errors.New("target is older than the sessions")
	errDropped  = errors.New("server was dropped")
)

func newServer(p *Pool, t *upstream.Target) *server {
	s := &server{
		pool: p, version: t.Version, sessions: map[sessionKey]*session{}, flights: map[sessionKey]*connectAttempt{},
		watchers: map[*watcher]bool{}, resources: map[string]*resource{}, settling: map[string]bool{},
	}
	s.admission.SetLimit(t.ConcurrencyLimit())
	return s
}

// acquire returns a session for the target and client and connects if there is
// none. The caller must release the session. The error is ctx.Err(),
// errOutdated, errDropped or a connection error.
func (s *server) acquire(ctx context.Context, t *upstream.Target, key sessionKey) (*session, error) {
	s.mu.Lock()
	switch {
	case s.dropped:
		s.mu.Unlock()
		return nil, errDropped
	case t.Version < s.version:
		s.mu.Unlock()
		return nil, errOutdated
	}
	s.adopt(t)
	s.target = t
	if ss := s.find(key); ss != nil {
		ss.inflight++
		s.mu.Unlock()
		return ss, nil
	}
	f := s.flights[key]
	if f == nil || key.alone {
		var err error
		if f, err = s.startConnect(ctx, t, key); err != nil {
			s.mu.Unlock()
			return nil, err
		}
	} else {
		f.waiters++
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.session, f.err
	case <-ctx.Done():
		s.leave(f, key)
		return nil, ctx.Err()
	}
}

// adopt switches to a newer configuration and retires the sessions of the older
// one. The caller must hold mu.
func (s *server) adopt(t *upstream.Target) {
	if t.Version <= s.version {
		return
	}
	s.version = t.Version
	s.admission.SetLimit(t.ConcurrencyLimit())
	s.breaker.Reset()
	s.retireAll()
	s.wakeWatchers()
}

// find returns a usable session, or nil.
func (s *server) find(key sessionKey) *session {
	if s.stateless != nil {
		return s.stateless
	}
	ss := s.sessions[key]
	if ss != nil && ss.transport.Closed() {
		s.remove(ss)
		return nil
	}
	return ss
}

// startConnect starts to connect. It uses only the values of ctx and not its
// cancellation, because other calls may wait for the same session.
func (s *server) startConnect(ctx context.Context, t *upstream.Target, key sessionKey) (*connectAttempt, error) {
	c, err := newConnector(s.pool, t, key, s.era, s.notifyWatchers)
	if err != nil {
		return nil, err
	}
	f := &connectAttempt{done: make(chan struct{}), waiters: 1}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transport.MaxConnectTime)
	f.cancel = cancel
	started := s.pool.start(func(life context.Context) {
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		var ss *session
		found := era{url: t.URL}
		err := s.pool.tasks.Try("upstream connect", func() (err error) { ss, found.kind, err = c.connect(ctx); return err })
		s.finishConnect(f, key, t, ss, found, err)
	})
	if !started {
		cancel()
		return nil, closing(c.Place)
	}
	if !key.alone {
		s.flights[key] = f
	}
	return f, nil
}

// finishConnect finishes a flight and passes its session to the waiting callers.
func (s *server) finishConnect(f *connectAttempt, key sessionKey, t *upstream.Target, ss *session, found era, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flights[key] == f {
		delete(s.flights, key)
	}
	f.session, f.err = ss, err
	defer close(f.done)
	current := !s.dropped && t.Version == s.version
	if err != nil {
		if current && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
			s.era = era{} // the cached era may be wrong
		}
		return
	}
	ss.inflight, ss.lastUsed = f.waiters, time.Now()
	switch {
	case !current || f.waiters == 0 || key.alone && !ss.stateless:
		ss.markRetired()
	case ss.stateless:
		s.stateless, s.era = ss, found
	case !s.makeRoom():
		ss.markRetired()
		ss.inflight = 0
		f.session, f.err = nil, ss.place.Unavailable("has %d sessions in use, the maximum. Retry when other clients have disconnected.", maxSessions)
	default:
		s.sessions[key], s.era = ss, found
		s.hold(ss)
	}
	s.endRetired(ss)
	s.wakeWatchers()
}

// leave removes a caller that stopped waiting for a flight.
func (s *server) leave(f *connectAttempt, key sessionKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-f.done: // it finished in the meantime, and its session counts this caller
		if f.session != nil {
			s.releaseLocked(f.session)
		}
		return
	default:
	}
	if f.waiters--; f.waiters == 0 {
		f.cancel()
		if s.flights[key] == f {
			delete(s.flights, key)
		}
	}
}

// release ends a caller's use of a session.
func (s *server) release(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(ss)
}

func (s *server) releaseLocked(ss *session) {
	ss.inflight--
	ss.lastUsed = time.Now()
	s.endRetired(ss)
}

// discard removes an unusable session. If v is eraMismatch, it also resets the era.
func (s *server) discard(ss *session, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v == eraMismatch && (s.stateless == ss || s.sessions[ss.key] == ss) {
		s.era = era{}
	}
	s.remove(ss)
}

// expireDescription removes the session of a stateless upstream if its
// description is older than age, so that the next call fetches a new one.
func (s *server) expireDescription(age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.stateless; ss != nil && time.Since(ss.opened) > age {
		s.remove(ss)
	}
}

// remove removes a session and closes it after its calls have finished. The
// caller must hold mu.
func (s *server) remove(ss *session) {
	if s.stateless == ss {
		s.stateless = nil
	}
	if s.sessions[ss.key] == ss {
		delete(s.sessions, ss.key)
	}
	ss.markRetired()
	s.endRetired(ss)
}

// markRetired marks a session as retired.
func (ss *session) markRetired() {
	ss.retired = true
	ss.retire()
}

func (s *server) retireAll() {
	if s.stateless != nil {
		s.remove(s.stateless)
	}
	for _, ss := range s.sessions {
		s.remove(ss)
	}
}

// endRetired closes a retired session that has no calls in flight.
func (s *server) endRetired(ss *session) {
	if ss.retired && ss.inflight == 0 && !ss.ended {
		ss.ended = true
		s.pool.end(ss)
	}
}

// makeRoom reports whether another session can be opened. At the limit it
// removes the session that has been idle the longest.
func (s *server) makeRoom() bool {
	if len(s.sessions) < maxSessions {
		return true
	}
	var oldest *session
	for _, ss := range s.sessions {
		if ss.inflight == 0 && (oldest == nil || ss.lastUsed.Before(oldest.lastUsed)) {
			oldest = ss
		}
	}
	if oldest == nil {
		return false
	}
	s.remove(oldest)
	return true
}

// sweep removes sessions that were idle for maxIdleTime and broken ones.
func (s *server) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ss := range s.sessions {
		if ss.transport.Closed() || ss.inflight == 0 && !ss.held && now.Sub(ss.lastUsed) > maxIdleTime {
			s.remove(ss)
		}
	}
}

// dropClient removes the sessions of one client.
func (s *server) dropClient(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, ss := range s.sessions {
		if key.client == client {
			s.remove(ss)
		}
	}
}

// drop closes all sessions after their calls have finished.
func (s *server) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	s.retireAll()
	s.forgetResources()
	s.wakeWatchers()
}

// takeAll drops the server and returns the sessions that the caller must close.
func (s *server) takeAll() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	var all []*session
	for _, ss := range s.sessions {
		ss.markRetired()
		if !ss.ended {
			ss.ended = true
			all = append(all, ss)
		}
	}
	if s.stateless != nil {
		s.stateless.markRetired()
		s.stateless = nil
	}
	clear(s.sessions)
	s.forgetResources()
	s.wakeWatchers()
	return all
}

// enter admits a client call: it waits for a slot and checks the breaker. After
// a nil error the caller must call note and admission.Leave. The error is a
// fault or ctx.Err(), and the caller must then call neither.
func (s *server) enter(ctx context.Context, t *upstream.Target, caller string) (tried admission.ProbeRun, err error) {
	s.mu.Lock()
	if !s.dropped {
		s.adopt(t)
	}
	s.mu.Unlock()
	// Check the breaker first: calls that cannot be sent must not queue.
	if err := s.breaker.Rejects(); err != nil {
		return nil, err
	}
	switch err := s.admission.Enter(ctx, caller); {
	case errors.Is(err, admission.ErrOverloaded):
		return nil, queueFull(placeOf(t), t.ConcurrencyLimit())
	case errors.Is(err, context.DeadlineExceeded):
		return nil, queueTimeout(placeOf(t), t.ConcurrencyLimit())
	case err != nil:
		return nil, err
	}
	if tried, err = s.breaker.Enter(ctx); err != nil {
		s.admission.Leave()
	}
	return tried, err
}

// note records the outcome of a call that started at the given time. err is the
// original error and explained is the one that callers receive.
func (s *server) note(parent context.Context, t *upstream.Target, tried admission.ProbeRun, started time.Time, err, explained error) {
	o := transport.OutcomeOf(parent, err)
	s.mu.Lock()
	turned := s.health.Note(explained)
	if t.Version != s.version {
		o = admission.OutcomeNone
	}
	s.mu.Unlock()
	if turned {
		s.pool.turned(t.ServerID, explained)
	}
	if o == admission.OutcomeTimedOut && s.lastNotification.Load() > started.UnixNano() {
		o = admission.OutcomeNone // it sent a notification during the call, so it is slow but alive
	}
	s.breaker.Record(tried, o, explained)
}
