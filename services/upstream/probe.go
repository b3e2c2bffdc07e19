package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// era is the way in which the server at a URL was found to speak. The zero
// value says that it is not known.
type era struct {
	url  string
	kind eraKind
}

type eraKind uint8

const (
	eraUnknown    eraKind = iota
	eraStateless          // 2026-07-28
	eraStreamable         // Streamable HTTP with a handshake
	eraLegacySSE          // HTTP+SSE
)

// connector finds out how an upstream speaks and starts a session with it.
type connector struct {
	poster
	pool   *Pool
	target *Target
	key    sessionKey
	known  eraKind
	heard  func(method string, params []byte)
	// callers are those of the session that the connector starts.
	callers *attribution
}

func newConnector(p *Pool, t *Target, key sessionKey, known era, heard func(string, []byte)) (*connector, error) {
	address := t.URL
	if t.Address != nil {
		var err error
		if address, err = t.Address(); err != nil {
			return nil, err
		}
	}
	c := &connector{poster: poster{http: p.http, tasks: p.tasks, place: placeOf(t), refused: t.Refused, filter: newCredentialFilter(t, address), instance: p.instance}, pool: p, target: t, key: key, heard: heard, callers: p.newAttribution(t, key)}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, c.place.unavailable("has an unusable URL: it must begin with http:// or https:// and name a host")
	}
	u.Fragment = ""
	c.url = u
	if known.url == t.URL {
		c.known = known.kind
	}
	return c, nil
}

// connect returns a session and the era it was found in. What is known is
// tried first; an upstream that turned to another era is probed anew.
func (c *connector) connect(ctx context.Context) (*session, eraKind, error) {
	ss, kind, err := c.tryKnown(ctx)
	if ss == nil && err == nil {
		ss, kind, err = c.probe(ctx)
	}
	if err != nil {
		return nil, eraUnknown, endedOr(ctx, err)
	}
	return ss, kind, nil
}

// tryKnown connects as in the known era. No session and no error mean that
// the upstream has to be probed.
func (c *connector) tryKnown(ctx context.Context) (*session, eraKind, error) {
	var ss *session
	var err error
	switch {
	case c.known == eraStreamable && c.target.Transport != models.TransportSSE:
		ss, err = c.initialize(ctx)
	case c.known == eraLegacySSE && c.target.Transport != models.TransportStreamableHTTP:
		ss, err = c.openLegacy(ctx)
	}
	var away *refusal
	if errors.As(err, &away) && away.isUnknownHere() || fault.Is(err, fault.CodeUpstreamInvalidResponse) {
		return nil, eraUnknown, nil
	}
	return ss, c.known, err
}

// probe finds out the era: a stateless request first, then the handshake, then
// HTTP+SSE (MCP 2026-07-28 and 2025-11-25, "Backwards compatibility").
func (c *connector) probe(ctx context.Context) (*session, eraKind, error) {
	if c.target.Transport == models.TransportSSE {
		ss, err := c.openLegacy(ctx)
		return ss, eraLegacySSE, err
	}
	ss, err := c.discover(ctx)
	if ss != nil || err != nil {
		return ss, eraStateless, err
	}
	ss, err = c.initialize(ctx)
	var away *refusal
	if err == nil || c.target.Transport == models.TransportStreamableHTTP || !errors.As(err, &away) || !away.isUnknownHere() {
		return ss, eraStreamable, err
	}
	ss, legacyErr := c.openLegacy(ctx)
	if legacyErr == nil {
		return ss, eraLegacySSE, nil
	}
	if errors.As(legacyErr, &away) || fault.Is(legacyErr, fault.CodeUpstreamInvalidResponse) {
		return nil, eraUnknown, err // it is no HTTP+SSE server, so the handshake's answer says more
	}
	return nil, eraUnknown, legacyErr
}

// fixedHeader is what the protocol fixes in every POST.
func (c *connector) fixedHeader() http.Header {
	h := http.Header{
		"Accept":          {acceptAnswers},
		"Accept-Encoding": {"identity"},
		"Content-Type":    {typeJSON},
		"User-Agent":      {c.pool.userAgent},
	}
	if c.instance != "" {
		h[HeaderHops] = []string{c.instance}
	}
	return h
}

// exchange returns a request of our own. The header is that of this request.
func (c *connector) exchange(ctx context.Context, fixed http.Header, method string, params []byte) (*exchange, error) {
	configured, err := c.filter.headers(ctx)
	if err != nil {
		return nil, err
	}
	id := c.pool.nextID()
	return &exchange{id: id, header: requestHeader(configured, fixed), body: appendRequest(nil, id, method, params)}, nil
}

// discover asks as revision 2026-07-28 does. No session and no error mean that
// the upstream does not speak it.
func (c *connector) discover(ctx context.Context) (*session, error) {
	fixed := c.fixedHeader()
	fixed[headerVersion] = []string{revision20260728}
	x, err := c.exchange(ctx, fixed, "server/discover", nil)
	if err != nil {
		return nil, err
	}
	params, err := rawjson.ParseObject([]byte("{}"), rawjson.Lenient)
	if err != nil {
		return nil, err
	}
	if x.body, _, err = statelessRequest(x.id, "server/discover", params, []byte(syncCapabilities), c.pool.self); err != nil {
		return nil, err
	}
	x.stateless = true
	x.header[headerMethod] = []string{"server/discover"}
	s := &streamable{poster: c.poster}
	limit := min(maxDiscoverTime, c.target.CallTimeout()/3)
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/3)
	}
	probeCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := s.call(probeCtx, x)
	if err != nil {
		var away *refusal
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case probeCtx.Err() != nil, errors.As(err, &away), fault.Is(err, fault.CodeUpstreamInvalidResponse):
			return nil, nil // older upstreams refuse it in many ways
		}
		return nil, err
	}
	about := &Description{ProtocolVersion: revision20260728, Transport: models.TransportStreamableHTTP}
	if r.rpcError != nil {
		code := errorCode(r.rpcError)
		if !isModernCode(code) || code == CodeUnsupportedProtocolVersion && !supported(r.rpcError) {
			return nil, nil
		}
	} else if !describeStateless(about, r.result) {
		return nil, nil
	}
	ss := c.session(s, fixed)
	ss.key, ss.stateless, ss.about, ss.opened = sessionKey{}, true, about, time.Now()
	return ss, nil
}

// session returns a session over the transport, which is yet to begin.
func (c *connector) session(t transport, fixed http.Header) *session {
	ss := &session{key: c.key, target: c.target, place: c.place, filter: c.filter, transport: t, header: fixed, heard: c.heard, callers: c.callers, level: newSessionLevel()}
	ss.inUse, ss.retire = context.WithCancel(context.Background())
	return ss
}

// supported reports whether a -32022 error offers revision 2026-07-28 after
// all.
func supported(rpcError []byte) bool {
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	return err == nil && holdsRevision(o.Object("data").Get("supported"))
}

// holdsRevision reports whether the raw array holds revision 2026-07-28.
func holdsRevision(versions []byte) bool {
	elements, err := rawjson.Elements(versions, rawjson.Lenient)
	if err != nil {
		return false
	}
	for _, e := range elements {
		if v, ok := rawjson.String(e); ok && v == revision20260728 {
			return true
		}
	}
	return false
}

// describeStateless takes over the result of server/discover. It reports
// whether the upstream serves revision 2026-07-28.
func describeStateless(d *Description, result []byte) bool {
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil || !holdsRevision(o.Get("supportedVersions")) {
		return false
	}
	d.Capabilities = object(o.Get("capabilities"))
	d.Instructions, _ = o.String("instructions")
	if d.ServerInfo = object(o.Object("_meta").Get(metaServerInfo)); d.ServerInfo == nil {
		d.ServerInfo = object(o.Get("serverInfo"))
	}
	return true
}

// object returns raw when it is a JSON object, otherwise nil.
func object(raw []byte) []byte {
	if rawjson.Kind(raw) != '{' {
		return nil
	}
	return raw
}
