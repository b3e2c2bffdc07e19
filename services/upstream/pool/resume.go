package pool

import (
	"context"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// acquireFor is like acquire, with the session of an earlier response if there
// is one: that of this process, or else one that continues it. Upstreams can
// bind tasks to the session that created them.
func (a *account) acquireFor(ctx context.Context, t *upstream.Target, key sessionKey, r *upstream.Request) (*session, error) {
	earlier := r.Session
	if earlier.ID == "" {
		return a.acquire(ctx, t, key, r.Client.Capabilities)
	}
	a.mu.Lock()
	if a.usable(t) == nil {
		for _, ss := range a.sessions {
			if ss.reference() == earlier && !ss.transport.Closed() {
				ss.inflight++
				a.mu.Unlock()
				return ss, nil
			}
		}
	}
	a.mu.Unlock()
	return a.acquire(ctx, t, sessionKey{resumed: earlier, handshake: true}, nil)
}

// withoutSession returns the request for any session, because the one it named
// has ended.
func withoutSession(r *upstream.Request) *upstream.Request {
	other := *r
	other.Session = upstream.Session{}
	return &other
}

// resume returns a session that continues one at the upstream. It sends
// nothing. The session has no GET stream, because another process may have it,
// and is never ended at the upstream.
func (c *connector) resume() *session {
	fixed := c.fixedHeader()
	earlier := c.key.resumed
	fixed[wire.HeaderSession] = []string{earlier.ID}
	if earlier.Version >= wire.Revision20250618 {
		fixed[wire.HeaderVersion] = []string{earlier.Version}
	}
	ss := c.session(&transport.Streamable{Poster: c.Poster, Session: true}, fixed)
	ss.kept.Store(true)
	ss.about, ss.opened = &upstream.Description{ProtocolVersion: earlier.Version, Transport: models.TransportStreamableHTTP}, time.Now()
	return ss
}
