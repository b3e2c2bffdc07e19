package pool

import (
	"time"

	"mcpgateway/services/upstream"
)

// makeRoom reports whether another session can be stored. At the limit of the
// account it removes the session that has been idle the longest. Before that, a
// shared session makes room for another one, so that clients with ever new
// capabilities don't end the sessions of others. The caller must hold mu.
func (a *account) makeRoom(ss *session) bool {
	if ss.key.isShared() && !ss.stateless && a.countShared() >= maxDeclared {
		a.removeIdlest(sessionKey.isShared)
	}
	if !ss.stateless && len(a.sessions) >= a.maxSessions() && !a.removeIdlest(func(sessionKey) bool { return true }) {
		return false
	}
	if a.owner.isCommon() {
		return true
	}
	if a.pool.personal.Add(1) > maxPersonalSessions {
		a.pool.personal.Add(-1)
		return false
	}
	return true
}

// freeRoom counts a removed session.
func (a *account) freeRoom() {
	if !a.owner.isCommon() {
		a.pool.personal.Add(-1)
	}
}

// noRoom returns the fault for a session for which there was no room.
func (a *account) noRoom(ss *session) error {
	if !ss.stateless && len(a.sessions) >= a.maxSessions() {
		return ss.place.Unavailable("has %d sessions in use, the maximum. Retry when other clients have disconnected.", a.maxSessions())
	}
	return ss.place.Unavailable("is used by too many people at once: the gateway has %d sessions of users with their own account, the maximum. Retry shortly.", maxPersonalSessions)
}

func (a *account) maxSessions() int {
	if a.owner.isCommon() {
		return maxSessions
	}
	return maxPersonalCalls
}

// isShared reports whether the session serves all clients with its capabilities.
func (k sessionKey) isShared() bool { return k.client == "" && !k.alone && !k.own }

func (a *account) countShared() (n int) {
	for key := range a.sessions {
		if key.isShared() {
			n++
		}
	}
	return n
}

// removeIdlest removes the session that has been idle the longest of those whose
// key matches. It returns false if all are in use.
func (a *account) removeIdlest(matches func(sessionKey) bool) bool {
	var oldest *session
	for _, ss := range a.sessions {
		if ss.inflight == 0 && matches(ss.key) && (oldest == nil || ss.lastUsed.Before(oldest.lastUsed)) {
			oldest = ss
		}
	}
	if oldest == nil {
		return false
	}
	a.remove(oldest)
	return true
}

// sweep removes broken sessions and those that were idle for longer than
// maxIdle. The stateless session of the common account stays.
func (a *account) sweep(now time.Time, maxIdle time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ss := range a.sessions {
		if ss.transport.Closed() || ss.inflight == 0 && !ss.held && now.Sub(ss.lastUsed) > maxIdle {
			a.remove(ss)
		}
	}
	if ss := a.stateless; ss != nil && !a.owner.isCommon() && ss.inflight == 0 && now.Sub(ss.lastUsed) > maxIdle {
		a.remove(ss)
	}
}

// retireIdle drops the account if nothing uses it, and reports whether it did.
func (a *account) retireIdle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stateless != nil || len(a.sessions)+len(a.flights)+len(a.watchers)+len(a.resources)+len(a.settling)+len(a.clients) > 0 {
		return false
	}
	a.dropped, a.swept = true, true
	return true
}

// makePersonalRoom closes idle sessions of users' own accounts if another one
// could exceed the limit: first those that have been idle for long.
func (p *Pool) makePersonalRoom(t *upstream.Target) {
	hasRoom := func() bool { return p.personal.Load() < maxPersonalSessions-personalReserve }
	if ownerOf(t).isCommon() || hasRoom() {
		return
	}
	p.making.Lock() // others wait for the room
	defer p.making.Unlock()
	if hasRoom() {
		return
	}
	now := time.Now()
	for _, idle := range []time.Duration{maxIdleTime / 3, time.Minute, time.Second, 0} {
		for _, s := range p.servers.Range {
			s.(*server).sweep(now, idle)
		}
		if hasRoom() {
			return
		}
	}
}
