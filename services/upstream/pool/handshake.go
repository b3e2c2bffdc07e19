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
	x, err := c.exchange(ctx, fixed, "initialize", c.initializeParams())
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
			return nil, c.Place.Invalid("sent an invalid session ID: %s", wire.Excerpt([]byte(c.Filter.Text(id))))
		}
		fixed[wire.HeaderSession] = []string{id}
		s.Session = true
	}
	ss := c.session(s, fixed)
	if s.Session && !c.key.own {
		s.Asks = transport.NewAskStream(s, c.key.audience(), transport.StreamEvents{
			Header: ss.requestHeader, Heard: ss.observeStream, Deliver: ss.callers.Deliver, Lost: func() { c.lost(ss) },
		}, c.pool.start)
	}
	if err := c.complete(ctx, ss, r, models.TransportStreamableHTTP); err != nil {
		c.pool.end(ss)
		return nil, err
	}
	return ss, nil
}

// initializeParams returns the params of the initialize request. Only a handshake
// revision can be offered in it.
func (c *connector) initializeParams() []byte {
	offer := c.offer()
	if offer == "" || offer == wire.Revision20260728 {
		offer = wire.Revision20251125
	}
	return c.pool.self.InitializeParams(offer, c.declared)
}

// openLegacy starts a session over HTTP+SSE.
func (c *connector) openLegacy(ctx context.Context) (*session, error) {
	fixed := c.fixedHeader()
	configured, err := c.Filter.Headers(ctx)
	if err != nil {
		return nil, err
	}
	l, err := transport.OpenLegacySSE(ctx, c.pool.life, c.Poster, wire.RequestHeader(configured, fixed), c.key.audience(), c.observer(c.key), c.callers.Deliver)
	if err != nil {
		return nil, err
	}
	ss := c.session(l, fixed)
	x, err := c.exchange(ctx, fixed, "initialize", c.initializeParams())
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

// complete applies the result of initialize and sends
// notifications/initialized.
func (c *connector) complete(ctx context.Context, ss *session, r transport.Reply, over models.Transport) error {
	if r.RPCError != nil {
		return c.Place.Invalid("rejected the initialize request: %s", wire.ErrorText(r.RPCError))
	}
	o, err := rawjson.ParseObject(r.Result, rawjson.Lenient)
	if err != nil {
		return c.Place.Invalid("sent invalid JSON: %s", wire.Excerpt(r.Result)).Because(err)
	}
	version, _ := o.String("protocolVersion")
	switch {
	case !wire.IsRevision(version) || version < wire.Revision20241105:
		return c.Place.Invalid("uses protocol version %q, which the gateway does not support.", wire.Excerpt([]byte(version)))
	case version >= wire.Revision20260728:
		return c.Place.Invalid("responded to initialize with protocol version %q, which has no such request.", version)
	case c.target.Pin() != "" && version > c.target.Pin():
		return c.Place.Invalid("responded with protocol version %s, which is newer than the configured %s.", version, c.target.Pin())
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
	if errors.As(err, &away) { // some upstreams reject the notification but work; the first call shows it
		return nil
	}
	return err
}
