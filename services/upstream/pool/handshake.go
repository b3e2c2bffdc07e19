package pool

import (
	"context"
	"errors"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// initialize starts a session over Streamable HTTP.
func (c *connector) initialize(ctx context.Context) (*session, error) {
	fixed := c.fixedHeader()
	x, err := c.exchange(ctx, fixed, "initialize", c.pool.self.InitializeParams(c.key.capabilities))
	if err != nil {
		return nil, err
	}
	s := &transport.Streamable{Poster: c.Poster}
	r, header, err := s.RoundTrip(ctx, x)
	if err != nil {
		return nil, err
	}
	if id := header.Get(wire.HeaderSession); id != "" {
		if !wire.IsToken([]byte(id)) {
			return nil, c.Place.Invalid("gave a session id that cannot be sent back: %s", wire.Excerpt([]byte(c.Filter.Text(id))))
		}
		fixed[wire.HeaderSession] = []string{id}
		s.Session = true
	}
	ss := c.session(s, fixed)
	if s.Session && !c.key.own {
		s.Asks = transport.NewAskStream(s, c.key.audience(), ss.requestHeader, ss.callers.Deliver, c.pool.start)
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
	configured, err := c.Filter.Headers(ctx)
	if err != nil {
		return nil, err
	}
	l, err := transport.OpenLegacySSE(ctx, c.pool.life, c.Poster, wire.RequestHeader(configured, fixed), c.key.audience(), c.heard, c.callers.Deliver)
	if err != nil {
		return nil, err
	}
	ss := c.session(l, fixed)
	x, err := c.exchange(ctx, fixed, "initialize", c.pool.self.InitializeParams(c.key.capabilities))
	if err == nil {
		var r transport.Reply
		if r, err = l.Call(ctx, x); err == nil {
			err = c.complete(ctx, ss, r, models.TransportSSE)
		}
	}
	if err != nil {
		l.Close(ctx, nil)
		return nil, err
	}
	return ss, nil
}

// complete takes over what the upstream answered to initialize and tells it
// that the session has begun.
func (c *connector) complete(ctx context.Context, ss *session, r transport.Reply, over models.Transport) error {
	if r.RPCError != nil {
		return c.Place.Invalid("refused to start a session: %s", wire.ErrorText(r.RPCError))
	}
	o, err := rawjson.ParseObject(r.Result, rawjson.Lenient)
	if err != nil {
		return c.Place.Invalid("sent something that is not JSON: %s", wire.Excerpt(r.Result)).Because(err)
	}
	version, _ := o.String("protocolVersion")
	switch {
	case !wire.IsRevision(version) || version < wire.Revision20241105:
		return c.Place.Invalid("speaks protocol version %q, which the gateway does not", wire.Excerpt([]byte(version)))
	case version >= wire.Revision20260728:
		return c.Place.Invalid("answered a handshake with protocol version %q, which has none", version)
	case version >= wire.Revision20250618:
		ss.header[wire.HeaderVersion] = []string{version}
	}
	ss.about = &upstream.Description{
		ProtocolVersion: version, Transport: over,
		ServerInfo: wire.Object(o.Get("serverInfo")), Capabilities: wire.Object(o.Get("capabilities")),
	}
	ss.about.Instructions, _ = o.String("instructions")
	ss.opened = time.Now()

	configured, err := c.Filter.Headers(ctx)
	if err != nil {
		return err
	}
	header := wire.RequestHeader(configured, ss.header)
	err = ss.transport.Notify(ctx, header, wire.AppendNotification(nil, "notifications/initialized", nil))
	var away *transport.Refusal
	if errors.As(err, &away) { // some upstreams do without; the first call will tell
		return nil
	}
	return err
}
