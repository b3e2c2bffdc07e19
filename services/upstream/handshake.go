package upstream

import (
	"context"
	"errors"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// initializeParams returns the params of our initialize request. What the
// client can do is fixed by it for the whole session.
func (c *connector) initializeParams() []byte {
	capabilities := c.key.capabilities
	if capabilities == "" {
		capabilities = "{}"
	}
	p := append([]byte(`{"protocolVersion":"`+revision20251125+`","capabilities":`), capabilities...)
	p = append(append(p, `,"clientInfo":`...), c.pool.self.info...)
	return append(p, '}')
}

// initialize starts a session over Streamable HTTP.
func (c *connector) initialize(ctx context.Context) (*session, error) {
	fixed := c.fixedHeader()
	x, err := c.exchange(ctx, fixed, "initialize", c.initializeParams())
	if err != nil {
		return nil, err
	}
	s := &streamable{poster: c.poster}
	r, header, err := s.roundTrip(ctx, x)
	if err != nil {
		return nil, err
	}
	if id := header.Get(headerSession); id != "" {
		if !isToken([]byte(id)) {
			return nil, c.place.invalid("gave a session id that cannot be sent back: %s", Excerpt([]byte(c.filter.text(id))))
		}
		fixed[headerSession] = []string{id}
		s.session = true
	}
	ss := c.session(s, fixed)
	if s.session && !c.key.own {
		s.asks = newAskStream(s, c.key.audience(), ss.requestHeader, ss.callers.deliver, c.pool.start)
	}
	if err := c.complete(ctx, ss, r, models.TransportStreamableHTTP); err != nil {
		c.pool.end(ss)
		return nil, err
	}
	return ss, nil
}

// openLegacy starts a session over HTTP+SSE.
func (c *connector) openLegacy(ctx context.Context) (*session, error) {
	fixed := c.fixedHeader()
	configured, err := c.filter.headers(ctx)
	if err != nil {
		return nil, err
	}
	l, err := openLegacySSE(ctx, c.pool.life, c.poster, requestHeader(configured, fixed), c.key.audience(), c.heard, c.callers.deliver)
	if err != nil {
		return nil, err
	}
	ss := c.session(l, fixed)
	x, err := c.exchange(ctx, fixed, "initialize", c.initializeParams())
	if err == nil {
		var r reply
		if r, err = l.call(ctx, x); err == nil {
			err = c.complete(ctx, ss, r, models.TransportSSE)
		}
	}
	if err != nil {
		l.close(ctx, nil)
		return nil, err
	}
	return ss, nil
}

// complete takes over what the upstream answered to initialize and tells it
// that the session has begun.
func (c *connector) complete(ctx context.Context, ss *session, r reply, over models.Transport) error {
	if r.rpcError != nil {
		return c.place.invalid("refused to start a session: %s", errorText(r.rpcError))
	}
	o, err := rawjson.ParseObject(r.result, rawjson.Lenient)
	if err != nil {
		return c.place.invalid("sent something that is not JSON: %s", Excerpt(r.result)).Because(err)
	}
	version, _ := o.String("protocolVersion")
	switch {
	case !isRevision(version) || version < revision20241105:
		return c.place.invalid("speaks protocol version %q, which the gateway does not", Excerpt([]byte(version)))
	case version >= revision20260728:
		return c.place.invalid("answered a handshake with protocol version %q, which has none", version)
	case version >= revision20250618:
		ss.header[headerVersion] = []string{version}
	}
	ss.about = &Description{
		ProtocolVersion: version, Transport: over,
		ServerInfo: object(o.Get("serverInfo")), Capabilities: object(o.Get("capabilities")),
	}
	ss.about.Instructions, _ = o.String("instructions")
	ss.opened = time.Now()

	configured, err := c.filter.headers(ctx)
	if err != nil {
		return err
	}
	header := requestHeader(configured, ss.header)
	err = ss.transport.notify(ctx, header, appendNotification(nil, "notifications/initialized", nil))
	var away *refusal
	if errors.As(err, &away) { // some upstreams do without; the first call will tell
		return nil
	}
	return err
}
