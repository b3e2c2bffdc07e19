package pool

import (
	"context"
	"sync"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
)

// HoldStreams opens the GET streams of a client's own upstream sessions,
// including future ones, until release is called. While the client's stream is
// open, it then receives the messages that upstreams send between calls. Shared
// sessions are not affected.
func (p *Pool) HoldStreams(sessionID string) (release func()) {
	p.addHold(sessionID, 1)
	return sync.OnceFunc(func() { p.addHold(sessionID, -1) })
}

func (p *Pool) addHold(sessionID string, n int) {
	p.mu.Lock()
	if p.holds[sessionID] += n; p.holds[sessionID] == 0 {
		delete(p.holds, sessionID)
	}
	p.mu.Unlock()
	for _, v := range p.servers.Range {
		for _, a := range v.(*server).accounts() {
			a.followHold(sessionID)
		}
	}
}

func (p *Pool) isHeld(sessionID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holds[sessionID] > 0
}

func (a *account) followHold(client string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, ss := range a.sessions {
		if key.client == client {
			a.hold(ss)
		}
	}
}

// hold starts or ends the hold on a session's GET stream. The caller must hold
// mu.
func (a *account) hold(ss *session) {
	held := ss.key.client != "" && a.pool.isHeld(ss.key.client)
	if held == ss.held {
		return
	}
	ss.held = held
	if t, ok := ss.transport.(*transport.Streamable); ok && t.Asks != nil {
		t.Asks.Hold(held)
	}
}

// Hold opens the session of a client and its GET stream until release is
// called, because the upstream may send messages to the client between two
// calls. It connects if necessary. On failure it does nothing.
func (p *Pool) Hold(ctx context.Context, t *upstream.Target, c upstream.Client) (release func()) {
	s := p.server(t)
	key := p.keyOf(t, c)
	if s == nil || key.alone {
		return func() {}
	}
	a := s.account(t)
	ss, err := a.acquire(ctx, t, key, c.Capabilities)
	if err != nil {
		return func() {}
	}
	free := func() { a.release(ss) }
	if st, ok := ss.transport.(*transport.Streamable); ok && st.Asks != nil {
		st.Asks.Hold(true)
		free = func() {
			st.Asks.Hold(false)
			a.release(ss)
		}
	}
	return sync.OnceFunc(free)
}
