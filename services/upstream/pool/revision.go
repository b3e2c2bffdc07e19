package pool

import (
	"context"
	"errors"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// Revisions stores the revisions that failed calls showed to be right for clients
// that servers can send requests to. Implemented by revisions.Store.
type Revisions interface {
	// Of returns the revision for a server, or "" if none was learned. Every call
	// of such a client calls it.
	Of(serverID string) string
	// Learn stores a revision and the reason. It must not block.
	Learn(t *upstream.Target, revision, reason string)
}

// WithRevisions sets the store of learned revisions. Without it none is learned.
func WithRevisions(r Revisions) Option { return func(p *Pool) { p.revisions = r } }

// callForClient sends a client's request in the revision that was learned for
// the server, and learns from the response.
func (p *Pool) callForClient(ctx context.Context, a *account, t *upstream.Target, r *upstream.Request) (*upstream.Response, error) {
	key := p.keyOf(t, r.Client)
	if !key.capabilities.Interactive || p.revisions == nil || t.ServerID == "" || t.Pin() != "" {
		out, _, err := p.call(ctx, a, t, key, r)
		return out, err
	}
	learned := p.revisions.Of(t.ServerID)
	key.handshake = learned != "" && learned < wire.Revision20260728
	out, used, err := p.call(ctx, a, t, key, r)
	if key.handshake && used == nil && isRejected(err) { // only handshake requests were sent
		p.revisions.Learn(t, wire.Revision20260728, "The server rejected the handshake of "+learned+".")
		key.handshake = false
		out, used, err = p.call(ctx, a, t, key, r)
	}
	if err != nil {
		return out, err
	}
	reason := out.UnsupportedRequests()
	switch {
	case reason == "":
	case learned == "" && used.stateless && used.about.Handshake:
		p.revisions.Learn(t, wire.Revision20251125, reason)
	case key.handshake && !used.stateless: // it fails alike, so the newest is used again
		p.revisions.Learn(t, wire.Revision20260728, reason)
	}
	return out, nil
}

// isRejected reports whether an upstream responded to a handshake, but not with
// a session.
func isRejected(err error) bool {
	var away *transport.Refusal
	return errors.As(err, &away) || fault.Is(err, fault.CodeUpstreamInvalidResponse)
}
