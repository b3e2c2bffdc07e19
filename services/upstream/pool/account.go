package pool

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
	"mcpgateway/services/upstream/transport"
)

// account is the state of one account at a server: its sessions, streams and
// subscriptions. Accounts of different users share none of it.
type account struct {
	pool   *Pool
	server *server
	owner  owner
	// admission limits the calls of a user; nil without one.
	admission *admission.Queue

	mu        sync.Mutex
	version   int64 // configuration version of the sessions
	dropped   bool
	swept     bool     // dropped because it was idle
	stateless *session // shared by all clients of an upstream without sessions
	sessions  map[sessionKey]*session
	flights   map[sessionKey]*connectAttempt
	target    *upstream.Target // the newest one
	watchers  map[*watcher]bool
	resources map[string]*resource // resources with subscribers, by URI
	settling  map[string]bool      // URIs that a goroutine is reconciling
	clients   map[string]*ownWatch // resources of clients' own sessions, by client
}

// owner identifies an account at a server. The zero owner is the account that
// all users share.
type owner struct{ person, forwarded string }

func ownerOf(t *upstream.Target) owner { return owner{person: t.Person, forwarded: t.Forwarded} }

// isCommon reports whether the owner is the account that all users share.
func (o owner) isCommon() bool { return o == owner{} }

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
	errSwept    = errors.New("account was idle and is replaced")
)

func newAccount(s *server, t *upstream.Target, who owner) *account {
	a := &account{
		pool: s.pool, server: s, owner: who, version: max(t.Version, s.version.Load()),
		sessions: map[sessionKey]*session{}, flights: map[sessionKey]*connectAttempt{},
		watchers: map[*watcher]bool{}, resources: map[string]*resource{}, settling: map[string]bool{}, clients: map[string]*ownWatch{},
	}
	if who.person != "" {
		a.admission = &admission.Queue{}
		a.admission.SetLimit(maxPersonalCalls)
	}
	return a
}

// acquire returns a session for the target and client and connects if there is
// none. declared are the raw capabilities of the client, which a new session
// declares. The caller must release the session. The error is ctx.Err(),
// errOutdated, errDropped, errSwept or a connection error.
func (a *account) acquire(ctx context.Context, t *upstream.Target, key sessionKey, declared []byte) (*session, error) {
	a.server.adopt(t)
	a.mu.Lock()
	if err := a.usable(t); err != nil {
		a.mu.Unlock()
		return nil, err
	}
	a.adopt(t.Version)
	a.target = t
	if ss := a.find(key); ss != nil {
		ss.inflight++
		a.mu.Unlock()
		return ss, nil
	}
	f := a.flights[key]
	if f == nil || key.alone {
		var err error
		if f, err = a.startConnect(ctx, t, key, declared); err != nil {
			a.mu.Unlock()
			return nil, err
		}
	} else {
		f.waiters++
	}
	a.mu.Unlock()
	select {
	case <-f.done:
		return f.session, f.err
	case <-ctx.Done():
		a.leave(f, key)
		return nil, ctx.Err()
	}
}

// usable returns errSwept, errDropped or errOutdated if a target cannot use the
// account's sessions. The caller must hold mu.
func (a *account) usable(t *upstream.Target) error {
	switch {
	case a.swept:
		return errSwept
	case a.dropped:
		return errDropped
	case t.Version < a.version:
		return errOutdated
	}
	return nil
}

// adopt switches to a newer configuration and retires the sessions of the older
// one. The caller must hold mu.
func (a *account) adopt(version int64) {
	if version <= a.version {
		return
	}
	a.version = version
	a.retireAll()
	a.wakeWatchers()
}

// find returns a usable session, or nil.
func (a *account) find(key sessionKey) *session {
	if a.stateless != nil && !key.handshake {
		return a.stateless
	}
	ss := a.sessions[key]
	if ss != nil && ss.transport.Closed() {
		a.remove(ss)
		return nil
	}
	return ss
}

// startConnect starts to connect. It uses only the values of ctx and not its
// cancellation, because other calls may wait for the same session.
func (a *account) startConnect(ctx context.Context, t *upstream.Target, key sessionKey, declared []byte) (*connectAttempt, error) {
	c, err := newConnector(a.pool, t, key, declared, a.server.knownEra(), a.observer)
	if err != nil {
		return nil, err
	}
	c.lost = a.replaceLost
	f := &connectAttempt{done: make(chan struct{}), waiters: 1}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transport.MaxConnectTime+t.StartTime())
	f.cancel = cancel
	started := a.pool.start(func(life context.Context) {
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		var ss *session
		found := era{url: t.URL, pin: t.Pin()}
		err := a.pool.tasks.Try("upstream connect", func() (err error) { ss, found.kind, err = c.connect(ctx); return err })
		a.finishConnect(f, key, t, ss, found, err)
	})
	if !started {
		cancel()
		return nil, closing(c.Place)
	}
	if !key.alone {
		a.flights[key] = f
	}
	return f, nil
}

// finishConnect finishes a flight and passes its session to the waiting callers.
func (a *account) finishConnect(f *connectAttempt, key sessionKey, t *upstream.Target, ss *session, found era, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.flights[key] == f {
		delete(a.flights, key)
	}
	f.session, f.err = ss, err
	defer close(f.done)
	current := !a.dropped && t.Version == a.version
	if err != nil {
		if current && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
			a.server.setEra(era{}) // the cached era may be wrong
		}
		return
	}
	ss.inflight, ss.lastUsed = f.waiters, time.Now()
	switch {
	case !current || f.waiters == 0 || key.alone && !ss.stateless:
		ss.markRetired()
	case !a.makeRoom(ss):
		ss.markRetired()
		ss.inflight = 0
		f.session, f.err = nil, a.noRoom(ss)
	case ss.stateless:
		a.stateless = ss
		a.server.setEra(found)
	default:
		a.sessions[key] = ss
		if !key.handshake { // it is not the era of the other clients
			a.server.setEra(found)
		}
		a.hold(ss)
	}
	a.endRetired(ss)
	a.wakeWatchers()
}

// leave removes a caller that stopped waiting for a flight.
func (a *account) leave(f *connectAttempt, key sessionKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-f.done: // it finished in the meantime, and its session counts this caller
		if f.session != nil {
			a.releaseLocked(f.session)
		}
		return
	default:
	}
	if f.waiters--; f.waiters == 0 {
		f.cancel()
		if a.flights[key] == f {
			delete(a.flights, key)
		}
	}
}

// release ends a caller's use of a session.
func (a *account) release(ss *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(ss)
}

func (a *account) releaseLocked(ss *session) {
	ss.inflight--
	ss.lastUsed = time.Now()
	a.endRetired(ss)
}

// discard removes an unusable session. If v is eraMismatch, it also resets the era.
func (a *account) discard(ss *session, v verdict) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if v == eraMismatch && (a.stateless == ss || a.sessions[ss.key] == ss) {
		a.server.setEra(era{})
	}
	a.remove(ss)
}

// expireDescription removes the session of a stateless upstream if its
// description is older than age, so that the next call fetches a new one.
func (a *account) expireDescription(age time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ss := a.stateless; ss != nil && time.Since(ss.opened) > age {
		a.remove(ss)
	}
}

// remove removes a session and closes it after its calls have finished. The
// caller must hold mu.
func (a *account) remove(ss *session) {
	if a.stateless == ss {
		a.stateless = nil
		a.freeRoom()
	}
	if a.sessions[ss.key] == ss {
		delete(a.sessions, ss.key)
		a.freeRoom()
	}
	ss.markRetired()
	a.endRetired(ss)
}

// markRetired marks a session as retired.
func (ss *session) markRetired() {
	ss.retired = true
	ss.retire()
}

func (a *account) retireAll() {
	if a.stateless != nil {
		a.remove(a.stateless)
	}
	for _, ss := range a.sessions {
		a.remove(ss)
	}
}

// endRetired closes a retired session that has no calls in flight.
func (a *account) endRetired(ss *session) {
	if ss.retired && ss.inflight == 0 && !ss.ended {
		ss.ended = true
		a.pool.end(ss)
	}
}

// dropClient removes the sessions of one client.
func (a *account) dropClient(client string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.clients[client]; w != nil {
		a.endWatch(w)
	}
	for key, ss := range a.sessions {
		if key.client == client {
			a.remove(ss)
		}
	}
}

// drop closes all sessions after their calls have finished.
func (a *account) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropped = true
	a.retireAll()
	a.forgetResources()
	a.wakeWatchers()
}

// takeAll drops the server and returns the sessions that the caller must close.
func (a *account) takeAll() []*session {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropped = true
	var all []*session
	for _, ss := range a.sessions {
		ss.markRetired()
		if !ss.ended {
			ss.ended = true
			all = append(all, ss)
		}
	}
	if a.stateless != nil {
		a.stateless.markRetired()
		a.stateless = nil
	}
	clear(a.sessions)
	a.forgetResources()
	a.wakeWatchers()
	return all
}
