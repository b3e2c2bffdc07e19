package pool

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/capabilities"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// era is the protocol generation of the server at a URL, with a configured
// revision. In the zero value it is unknown.
type era struct {
	url  string
	pin  string
	kind eraKind
}

type eraKind uint8

const (
	eraUnknown    eraKind = iota
	eraStateless          // 2026-07-28
	eraStreamable         // Streamable HTTP with a handshake
	eraLegacySSE          // HTTP+SSE
)

// connector detects the era of an upstream and starts a session with it.
type connector struct {
	transport.Poster
	pool     *Pool
	target   *upstream.Target
	key      sessionKey
	declared []byte // raw capabilities of the client
	known    eraKind
	older    bool // the upstream listed its revisions, and 2026-07-28 is not one
	// observer returns the function that receives every notification of a
	// session with the key.
	observer func(sessionKey) func(method string, params []byte)
	// lost discards a session that the upstream has lost.
	lost func(*session)
	// callers attributes the notifications of the new session.
	callers *transport.Attribution
}

func newConnector(p *Pool, t *upstream.Target, key sessionKey, declared []byte, known era, observer func(sessionKey) func(string, []byte)) (*connector, error) {
	address := t.URL
	if t.Address != nil {
		var err error
		if address, err = t.Address(); err != nil {
			return nil, err
		}
	}
	c := &connector{Poster: transport.Poster{HTTP: p.clientOf(t), Tasks: p.tasks, Place: placeOf(t), Refused: t.Refused, Filter: transport.NewFilter(t, address), Instance: p.instance, EndEvent: t.EndEvent}, pool: p, target: t, key: key, declared: bytes.Clone(declared), observer: observer, callers: p.newAttribution(t, key)}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, c.Place.Unavailable("has an invalid URL. It must start with http:// or https:// and name a host.")
	}
	if key.own {
		c.declared = []byte(capabilities.Sync)
	}
	u.Fragment = ""
	c.URL = u
	if known.url == t.URL && known.pin == t.Pin() {
		c.known = known.kind
	}
	return c, nil
}

// connect returns a session and its era. It tries the cached era first and
// probes again if the upstream has changed its era.
func (c *connector) connect(ctx context.Context) (*session, eraKind, error) {
	if c.key.resumed.ID != "" {
		return c.resume(), c.known, nil // no evidence of the era
	}
	ss, kind, err := c.tryKnown(ctx)
	if ss == nil && err == nil {
		ss, kind, err = c.probe(ctx)
	}
	if err != nil {
		return nil, eraUnknown, transport.ContextErrOr(ctx, err)
	}
	return ss, kind, nil
}

// tryKnown connects with the cached era. If the session and the error are nil,
// the caller must probe.
func (c *connector) tryKnown(ctx context.Context) (*session, eraKind, error) {
	var ss *session
	var err error
	switch {
	case c.target.Pin() == wire.Revision20260728: // an era with a handshake needs its consent
	case c.known == eraStreamable && c.target.Transport != models.TransportSSE:
		ss, err = c.initialize(ctx)
	case c.known == eraLegacySSE && c.target.Transport != models.TransportStreamableHTTP:
		ss, err = c.openLegacy(ctx)
	}
	var away *transport.Refusal
	if errors.As(err, &away) && away.IsUnknownHere() || fault.Is(err, fault.CodeUpstreamInvalidResponse) {
		return nil, eraUnknown, nil
	}
	return ss, c.known, err
}

// probe detects the era. It tries a stateless request, then the handshake, then
// HTTP+SSE (MCP 2026-07-28 and 2025-11-25, "Backwards compatibility"). A revision
// with a handshake that is configured or learned skips the stateless request.
// If 2026-07-28 is configured, an upstream that only lists older ones is taken.
func (c *connector) probe(ctx context.Context) (*session, eraKind, error) {
	if c.target.Transport == models.TransportSSE {
		ss, err := c.openLegacy(ctx)
		return ss, eraLegacySSE, err
	}
	if c.offer() == "" || c.offer() == wire.Revision20260728 {
		ss, err := c.discover(ctx)
		if ss != nil || err != nil {
			return ss, eraStateless, err
		}
		if c.offer() != "" && !c.older {
			return nil, eraUnknown, c.Place.Invalid("does not support protocol version %s, which its configuration requires.", c.offer())
		}
	}
	ss, err := c.initialize(ctx)
	var away *transport.Refusal
	if err == nil || c.target.Transport == models.TransportStreamableHTTP || !errors.As(err, &away) || !away.IsUnknownHere() {
		return ss, eraStreamable, err
	}
	ss, legacyErr := c.openLegacy(ctx)
	if legacyErr == nil {
		return ss, eraLegacySSE, nil
	}
	if errors.As(legacyErr, &away) || fault.Is(legacyErr, fault.CodeUpstreamInvalidResponse) {
		return nil, eraUnknown, err // not an HTTP+SSE server, so the error of the handshake is more useful
	}
	return nil, eraUnknown, legacyErr
}

// offer returns the revision that the session must have: the configured one, or
// the newest one with a handshake if the key requires that. It is empty if the
// probe decides.
func (c *connector) offer() string {
	if c.key.handshake {
		return wire.Revision20251125
	}
	return c.target.Pin()
}

// fixedHeader returns the header fields that every POST has.
func (c *connector) fixedHeader() http.Header {
	h := http.Header{
		"Accept":          {wire.AcceptAnswers},
		"Accept-Encoding": {"identity"},
		"Content-Type":    {wire.TypeJSON},
		"User-Agent":      {c.pool.userAgent},
	}
	if c.Instance != "" {
		h[upstream.HeaderHops] = []string{c.Instance}
	}
	return h
}

// exchange returns a request of the gateway with its own copy of the header.
func (c *connector) exchange(ctx context.Context, fixed http.Header, method string, params []byte) (*transport.Exchange, error) {
	configured, err := c.Filter.Headers(ctx)
	if err != nil {
		return nil, err
	}
	id := c.pool.nextID()
	return &transport.Exchange{ID: id, Header: wire.RequestHeader(configured, fixed), Body: wire.AppendRequest(nil, id, method, params)}, nil
}

// discover sends server/discover as in revision 2026-07-28. If the session and
// the error are nil, the upstream does not support that revision.
func (c *connector) discover(ctx context.Context) (*session, error) {
	fixed := c.fixedHeader()
	fixed[wire.HeaderVersion] = []string{wire.Revision20260728}
	x, err := c.exchange(ctx, fixed, "server/discover", nil)
	if err != nil {
		return nil, err
	}
	params, err := rawjson.ParseObject([]byte("{}"), rawjson.Lenient)
	if err != nil {
		return nil, err
	}
	if x.Body, _, err = wire.StatelessRequest(x.ID, "server/discover", params, []byte(capabilities.Sync), c.pool.self); err != nil {
		return nil, err
	}
	x.Stateless = true
	x.Header[wire.HeaderMethod] = []string{"server/discover"}
	s := &transport.Streamable{Poster: c.Poster}
	limit := min(maxDiscoverTime, c.target.CallTimeout()/3)
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/3)
	}
	if c.offer() != "" { // nothing else is tried
		limit = c.target.CallTimeout()
	}
	probeCtx, cancel := context.WithTimeout(ctx, limit+c.target.StartTime())
	defer cancel()
	r, err := s.Call(probeCtx, x)
	if err != nil {
		var away *transport.Refusal
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case c.offer() != "":
			return nil, err
		case probeCtx.Err() != nil, errors.As(err, &away), fault.Is(err, fault.CodeUpstreamInvalidResponse):
			return nil, nil // older upstreams reject it in different ways
		}
		return nil, err
	}
	about := &upstream.Description{ProtocolVersion: wire.Revision20260728, Transport: models.TransportStreamableHTTP}
	if r.RPCError != nil {
		code := wire.ErrorCode(r.RPCError)
		if !upstream.IsModernCode(code) || code == upstream.CodeUnsupportedProtocolVersion && !wire.IsOffered(r.RPCError) {
			c.older = code == upstream.CodeUnsupportedProtocolVersion
			return nil, nil
		}
	} else if !about.Discover(r.Result) {
		c.older = about.Handshake
		return nil, nil
	}
	ss := c.session(s, fixed)
	ss.key, ss.stateless, ss.about, ss.opened = sessionKey{}, true, about, time.Now()
	ss.onNotification = c.observer(ss.key)
	return ss, nil
}

// session returns a session over the transport, before the handshake.
func (c *connector) session(t transport.Transport, fixed http.Header) *session {
	ss := &session{key: c.key, target: c.target, place: c.Place, filter: c.Filter, transport: t, header: fixed, onNotification: c.observer(c.key), callers: c.callers, level: newSessionLevel()}
	ss.inUse, ss.retire = context.WithCancel(context.Background())
	return ss
}
