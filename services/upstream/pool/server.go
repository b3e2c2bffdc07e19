package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
	"mcpgateway/services/upstream/transport"
)

// server holds the shared state of all accounts at one upstream server: its era,
// health, call queue and breaker. Servers share nothing, so a hanging server
// does not delay the others.
type server struct {
	pool             *Pool
	admission        admission.Queue
	breaker          admission.Breaker
	version          atomic.Int64 // newest configuration version
	lastNotification atomic.Int64 // time of the latest notification, in Unix nanoseconds

	common *account // the account that all users share

	mu      sync.Mutex
	dropped bool
	era     era
	health  upstream.Health
	own     map[owner]*account // accounts of users
}

func newServer(p *Pool, t *upstream.Target) *server {
	s := &server{pool: p, own: map[owner]*account{}}
	s.version.Store(t.Version)
	s.admission.SetLimit(t.ConcurrencyLimit())
	s.common = newAccount(s, t, owner{})
	return s
}

// account returns the account that a target uses.
func (s *server) account(t *upstream.Target) *account {
	who := ownerOf(t)
	if who.isCommon() {
		return s.common
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.own[who]
	if a == nil {
		a = newAccount(s, t, who)
		a.dropped = s.dropped
		s.own[who] = a
	}
	return a
}

// accounts returns all accounts.
func (s *server) accounts() []*account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*account{s.common}, slices.Collect(maps.Values(s.own))...)
}

// adopt switches to a newer configuration: it retires the sessions of the older
// one in all accounts.
func (s *server) adopt(t *upstream.Target) {
	if t.Version <= s.version.Load() {
		return
	}
	s.mu.Lock()
	newer := t.Version > s.version.Load()
	if newer {
		s.version.Store(t.Version)
		s.admission.SetLimit(t.ConcurrencyLimit())
		s.breaker.Reset()
	}
	s.mu.Unlock()
	if !newer {
		return
	}
	for _, a := range s.accounts() {
		a.mu.Lock()
		a.adopt(t.Version)
		a.mu.Unlock()
	}
}

// drop closes all sessions after their calls have finished.
func (s *server) drop() {
	s.mu.Lock()
	s.dropped = true
	s.mu.Unlock()
	for _, a := range s.accounts() {
		a.drop()
	}
}

// dropPerson closes the sessions and streams of a user after their calls have
// finished.
func (s *server) dropPerson(person string) {
	var gone []*account
	s.mu.Lock()
	for who, a := range s.own {
		if who.person == person {
			gone = append(gone, a)
			delete(s.own, who)
		}
	}
	s.mu.Unlock()
	for _, a := range gone {
		a.drop()
	}
}

// sweep removes broken sessions, those that were idle for longer than maxIdle,
// and accounts of users that nothing uses.
func (s *server) sweep(now time.Time, maxIdle time.Duration) {
	for _, a := range s.accounts() {
		a.sweep(now, maxIdle)
		if a == s.common || !a.retireIdle() {
			continue
		}
		s.mu.Lock()
		if s.own[a.owner] == a {
			delete(s.own, a.owner)
		}
		s.mu.Unlock()
	}
}

func (s *server) knownEra() era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

func (s *server) setEra(found era) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era = found
}

// admitted is a client call that may be sent.
type admitted struct {
	server *server
	own    *admission.Queue // the user's queue; nil for the common account
	probe  admission.ProbeRun
}

// leave ends the call.
func (a admitted) leave() {
	a.server.admission.Leave()
	if a.own != nil {
		a.own.Leave()
	}
}

// enter admits a client call: it waits for a slot of the user and one of the
// server, and checks the breaker. After a nil error the caller must call note
// and leave. The error is a fault or ctx.Err(), and the caller must then call
// neither.
func (s *server) enter(ctx context.Context, t *upstream.Target, caller string) (in admitted, err error) {
	s.adopt(t)
	// Check the breaker first: calls that cannot be sent must not queue.
	if err := s.breaker.Rejects(); err != nil {
		return in, err
	}
	in = admitted{server: s, own: s.account(t).admission}
	if in.own != nil {
		if err := in.own.Enter(ctx, caller); err != nil {
			return in, queueFault(t, err, maxPersonalCalls)
		}
	}
	if err := s.admission.Enter(ctx, caller); err != nil {
		if in.own != nil {
			in.own.Leave()
		}
		return in, queueFault(t, err, t.ConcurrencyLimit())
	}
	if in.probe, err = s.breaker.Enter(ctx); err != nil {
		in.leave()
	}
	return in, err
}

// queueFault converts the error of a queue.
func queueFault(t *upstream.Target, err error, limit int) error {
	switch {
	case errors.Is(err, admission.ErrOverloaded):
		return queueFull(placeOf(t), limit)
	case errors.Is(err, context.DeadlineExceeded):
		return queueTimeout(placeOf(t), limit)
	}
	return err
}

// note records the outcome of a call that started at the given time. err is the
// original error and explained is the one that callers receive.
func (s *server) note(parent context.Context, t *upstream.Target, tried admission.ProbeRun, started time.Time, err, explained error) {
	o := transport.OutcomeOf(parent, err)
	starting := err != nil && t.Waiting() != "" // not a failure yet
	if t.Version != s.version.Load() || starting {
		o = admission.OutcomeNone
	}
	if !starting && s.notesHealth(t, explained) {
		s.pool.turned(t.ServerID, explained)
	}
	if o == admission.OutcomeTimedOut && s.lastNotification.Load() > started.UnixNano() {
		o = admission.OutcomeNone // it sent a notification during the call, so it is slow but alive
	}
	s.breaker.Record(tried, o, explained)
}

// notesHealth records the outcome of a request and reports whether it differs
// from the one before. Missing or rejected credentials of one user are not
// recorded.
func (s *server) notesHealth(t *upstream.Target, explained error) bool {
	if t.IsPersonal() && (fault.Is(explained, fault.CodeUpstreamUnauthorized) || fault.Is(explained, fault.CodeConnectionRequired)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health.Note(explained)
}
