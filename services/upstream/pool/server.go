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

// server is everything the pool holds of one upstream server: its era, its
// sessions and its health. Nothing of it is shared with other servers, so one
// that hangs delays no other.
type server struct {
	pool      *Pool
	admission admission.Queue
	breaker   admission.Breaker
	lastHeard atomic.Int64 // when a notification came, in Unix nanoseconds

	mu        sync.Mutex
	version   int64 // of the configuration that the sessions belong to
	dropped   bool
	era       era
	stateless *session // serves every client of an upstream without sessions
	sessions  map[sessionKey]*session
	flights   map[sessionKey]*flight
	health    upstream.Health
	target    *upstream.Target // the newest
	watchers  map[*watcher]bool
	resources map[string]*resource // by URI, those that clients subscribed to
	settling  map[string]bool      // URIs about which the upstream is being told
}

// flight is one attempt to connect, which all who need the session wait for.
// It ends when nobody does any more.
type flight struct {
	done   chan struct{}
	cancel context.CancelFunc

	// Guarded by the server's mutex until done is closed.
	waiters int
	session *session
	err     error
}

var (
	errOutdated = errors.New("the target is older than the sessions")
	errDropped  = errors.New("the server was dropped")
)

func newServer(p *Pool, t *upstream.Target) *server {
	s := &server{
		pool: p, version: t.Version, sessions: map[sessionKey]*session{}, flights: map[sessionKey]*flight{},
		watchers: map[*watcher]bool{}, resources: map[string]*resource{}, settling: map[string]bool{},
	}
	s.admission.SetLimit(t.ConcurrencyLimit())
	return s
}

// acquire returns a session for the target and client, which must be given
// back with release. It connects when there is none. The error is the
// context's, errOutdated, errDropped, or what connecting gave.
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
		if f, err = s.takeOff(ctx, t, key); err != nil {
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

// adopt makes a newer configuration the present one: what is held of the older
// one ends. The caller holds the mutex.
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

// takeOff starts to connect. The context lends its values only, because other
// calls may come to wait for the same session.
func (s *server) takeOff(ctx context.Context, t *upstream.Target, key sessionKey) (*flight, error) {
	c, err := newConnector(s.pool, t, key, s.era, s.heard)
	if err != nil {
		return nil, err
	}
	f := &flight{done: make(chan struct{}), waiters: 1}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transport.MaxConnectTime)
	f.cancel = cancel
	started := s.pool.start(func(life context.Context) {
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		var ss *session
		found := era{url: t.URL}
		err := s.pool.tasks.Try("connect to an upstream", func() (err error) { ss, found.kind, err = c.connect(ctx); return err })
		s.land(f, key, t, ss, found, err)
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

// land ends a flight and hands its session to those who wait.
func (s *server) land(f *flight, key sessionKey, t *upstream.Target, ss *session, found era, err error) {
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
			s.era = era{} // the way that was known may lead nowhere
		}
		return
	}
	ss.inflight, ss.lastUsed = f.waiters, time.Now()
	switch {
	case !current || f.waiters == 0 || key.alone && !ss.stateless:
		ss.takeOut()
	case ss.stateless:
		s.stateless, s.era = ss, found
	case !s.makeRoom():
		ss.takeOut()
		ss.inflight = 0
		f.session, f.err = nil, ss.place.Unavailable("has %d sessions in use, which is as many as the gateway opens", maxSessions)
	default:
		s.sessions[key], s.era = ss, found
		s.hold(ss)
	}
	s.endRetired(ss)
	s.wakeWatchers()
}

// leave is for a caller that cannot wait for a flight any longer.
func (s *server) leave(f *flight, key sessionKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-f.done: // it landed meanwhile, and its session counts this caller
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

// release gives a session back.
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

// discard takes a session that is no good any more out of use.
func (s *server) discard(ss *session, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v == eraOver && (s.stateless == ss || s.sessions[ss.key] == ss) {
		s.era = era{}
	}
	s.remove(ss)
}

// expireDescription forgets what an upstream without sessions said of itself
// more than age ago, so that it is asked anew.
func (s *server) expireDescription(age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.stateless; ss != nil && time.Since(ss.opened) > age {
		s.remove(ss)
	}
}

// remove takes a session out and ends it when its calls have ended.
func (s *server) remove(ss *session) {
	if s.stateless == ss {
		s.stateless = nil
	}
	if s.sessions[ss.key] == ss {
		delete(s.sessions, ss.key)
	}
	ss.takeOut()
	s.endRetired(ss)
}

// takeOut marks a session as out of use.
func (ss *session) takeOut() {
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

// endRetired ends a session that is out of use and has no calls left.
func (s *server) endRetired(ss *session) {
	if ss.retired && ss.inflight == 0 && !ss.ended {
		ss.ended = true
		s.pool.end(ss)
	}
}

// makeRoom reports whether another session may be opened; when there are too
// many, the one that was idle for longest makes room.
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

// sweep ends the sessions that were idle for long and those that broke.
func (s *server) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ss := range s.sessions {
		if ss.transport.Closed() || ss.inflight == 0 && !ss.held && now.Sub(ss.lastUsed) > maxIdleTime {
			s.remove(ss)
		}
	}
}

// dropClient ends the sessions that belong to one client.
func (s *server) dropClient(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, ss := range s.sessions {
		if key.client == client {
			s.remove(ss)
		}
	}
}

// drop ends all sessions as soon as their calls have ended.
func (s *server) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	s.retireAll()
	s.forgetResources()
	s.wakeWatchers()
}

// takeAll drops the server and returns the sessions that were not ended yet,
// for the caller to end.
func (s *server) takeAll() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	var all []*session
	for _, ss := range s.sessions {
		ss.takeOut()
		if !ss.ended {
			ss.ended = true
			all = append(all, ss)
		}
	}
	if s.stateless != nil {
		s.stateless.takeOut()
		s.stateless = nil
	}
	clear(s.sessions)
	s.forgetResources()
	s.wakeWatchers()
	return all
}

// enter lets a call of a client pass. Its end is told by note, and it gives
// back its part of the admission. The error is a fault or the context's; then
// there is nothing to give back.
func (s *server) enter(ctx context.Context, t *upstream.Target, caller string) (tried admission.Try, err error) {
	s.mu.Lock()
	if !s.dropped {
		s.adopt(t)
	}
	s.mu.Unlock()
	// Those that cannot be sent do not wait for a slot first.
	if err := s.breaker.Refuses(); err != nil {
		return nil, err
	}
	switch err := s.admission.Enter(ctx, caller); {
	case errors.Is(err, admission.ErrCrowded):
		return nil, crowded(placeOf(t), t.ConcurrencyLimit())
	case errors.Is(err, context.DeadlineExceeded):
		return nil, neverCame(placeOf(t), t.ConcurrencyLimit())
	case err != nil:
		return nil, err
	}
	if tried, err = s.breaker.Enter(ctx); err != nil {
		s.admission.Leave()
	}
	return tried, err
}

// note takes in the outcome of an exchange that began at the time started: err
// is what happened and explained what callers are told.
func (s *server) note(parent context.Context, t *upstream.Target, tried admission.Try, started time.Time, err, explained error) {
	o := transport.OutcomeOf(parent, err)
	s.mu.Lock()
	s.health.Note(explained)
	if t.Version != s.version {
		o = admission.OutcomeNone
	}
	s.mu.Unlock()
	if o == admission.OutcomeSilent && s.lastHeard.Load() > started.UnixNano() {
		o = admission.OutcomeNone // it works and says so, only not fast enough
	}
	s.breaker.Exited(tried, o, explained)
}
