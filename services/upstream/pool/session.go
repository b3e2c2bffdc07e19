package pool

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mcpgateway/services/capabilities"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// sessionKey identifies a session with a server. A session belongs to one
// client if the target requires it, and always to one set of capabilities,
// because a session declares them once.
type sessionKey struct {
	client       string
	capabilities capabilities.Identity
	// handshake marks a session with a handshake at an upstream that also has
	// the stateless revision.
	handshake bool
	// alone marks a session for a single call of a client without a session.
	alone bool
	// own marks the gateway's own session, which is never used for client
	// calls.
	own bool
	// resumed is the session of an earlier response, which may have been started
	// by another process.
	resumed upstream.Session
}

// audience returns the users of the session.
func (k sessionKey) audience() transport.Audience {
	return transport.Audience{Asked: k.capabilities.Interactive, Mixed: k.capabilities.Interactive && k.client == "" && !k.alone && !k.own, Own: k.own}
}

// session is an established session with an upstream. For revision 2026-07-28
// it has no state at the upstream.
type session struct {
	key       sessionKey
	target    *upstream.Target
	filter    *transport.Filter
	place     transport.FaultOrigin
	stateless bool
	transport transport.Transport
	header    http.Header // fields that every request has
	about     *upstream.Description
	opened    time.Time
	// onNotification receives every notification, because it may concern more than the
	// call on whose stream it arrived.
	onNotification func(method string, params []byte)
	callers        *transport.Attribution
	level          sessionLevel
	// inUse is cancelled when the session is retired.
	inUse  context.Context
	retire context.CancelFunc
	// kept reports whether something that lives in the session at the upstream is
	// still needed, so that the session is not ended there.
	kept atomic.Bool

	// Guarded by the server's mutex.
	inflight   int
	lastUsed   time.Time
	retired    bool // to be closed after its last call
	ended      bool
	held       bool            // its client's own stream is open
	subscribed map[string]bool // resources that the upstream watches for this session
}

// newAttribution returns the attribution of a session's notifications to
// clients.
func (p *Pool) newAttribution(t *upstream.Target, key sessionKey) *transport.Attribution {
	return transport.NewAttribution(key.client != "" || key.alone, key.own,
		func(method string, params []byte) bool { return p.completed(t, method, params) }, func() { p.unattributed.Add(1) })
}

// call sends one request. The error is ctx.Err(), a *Refusal or a fault. aside
// marks a request of the gateway that belongs to a client's call.
func (ss *session) call(ctx context.Context, p *Pool, t *upstream.Target, r *upstream.Request, aside bool) (transport.Reply, error) {
	configured, err := ss.filter.HeadersOf(ctx, t)
	if err != nil {
		return transport.Reply{}, err
	}
	x := &transport.Exchange{
		ID: p.nextID(), Header: wire.RequestHeader(configured, ss.header),
		Stateless: ss.stateless, Notify: r.Notify, Heard: ss.onNotification, Serve: r.Serve, Released: r.Released, Aside: aside, Stream: r.LogLevel != "" || r.Stream || r.Logs && ss.about.Has("logging"), Memory: r.Memory,
	}
	if ss.key.own {
		x.Serve = transport.AnswerWithoutClient
	}
	if ss.stateless {
		var name string
		params, err := r.ParamsObject()
		if err != nil {
			return transport.Reply{}, err
		}
		if x.Body, name, err = wire.StatelessRequest(x.ID, r.Method, params, r.Client.Capabilities, p.self); err != nil {
			return transport.Reply{}, err
		}
		x.Header[wire.HeaderMethod] = []string{wire.HeaderValue(r.Method)}
		if name != "" {
			x.Header[wire.HeaderName] = []string{wire.HeaderValue(name)}
		}
		r.ParamHeaders.Set(x.Header, r)
	} else {
		params, err := wire.HandshakeParams(r.RawParams())
		if err != nil {
			return transport.Reply{}, err
		}
		if r.Notify != nil {
			x.ProgressToken = wire.ProgressToken(params)
		}
		x.Body = wire.AppendRequest(make([]byte, 0, len(params)+len(r.Method)+64), x.ID, r.Method, params)
	}
	wire.SetTrace(x.Header, r.Client.TraceParent, r.Client.TraceState)
	if r.Client.Hops != "" {
		x.Header[upstream.HeaderHops] = []string{strings.Join(append(upstream.Hops(r.Client.Hops), upstream.Hops(p.instance)...), ", ")}
	}
	answer, err := ss.transport.Call(ctx, x)
	x.Settle(answer)
	if err != nil && ctx.Err() != nil && !ss.stateless {
		ss.cancel(ctx, p, x)
	}
	return answer, err
}

// response converts a reply to a response for callers.
func (ss *session) response(answer transport.Reply) *upstream.Response {
	return &upstream.Response{Result: answer.Result, Error: answer.RPCError, Stateless: ss.stateless, Version: ss.about.ProtocolVersion, Session: ss.reference()}
}

// reference returns the identity of the session at the upstream.
func (ss *session) reference() upstream.Session {
	id := ss.header.Get(wire.HeaderSession)
	if ss.stateless || id == "" {
		return upstream.Session{}
	}
	return upstream.Session{ID: id, Version: ss.about.ProtocolVersion}
}

// requestHeader returns the header of one request. The error is that of
// Target.Headers.
func (ss *session) requestHeader(ctx context.Context) (http.Header, error) {
	configured, err := ss.filter.Headers(ctx)
	if err != nil {
		return nil, err
	}
	return wire.RequestHeader(configured, ss.header), nil
}

// cancel notifies the upstream that the call was abandoned. In revisions with a
// handshake a closed connection does not cancel a request (MCP 2025-03-26,
// "Cancellation").
func (ss *session) cancel(ctx context.Context, p *Pool, x *transport.Exchange) {
	why := "the caller cancelled the request"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the request timed out"
	}
	params := strconv.AppendInt([]byte(`{"requestId":`), x.ID, 10)
	params = rawjson.AppendString(append(params, `,"reason":`...), why)
	body := wire.AppendNotification(nil, "notifications/cancelled", append(params, '}'))
	header := maps.Clone(x.Header)
	p.start(func(life context.Context) {
		ctx, cancel := context.WithTimeout(life, transport.MaxReplyTime)
		defer cancel()
		_ = ss.transport.Notify(ctx, header, body)
	})
}

// end closes the session at the upstream, best effort.
func (ss *session) end(ctx context.Context) {
	if s, ok := ss.transport.(*transport.Streamable); ok && ss.kept.Load() {
		s.Session = false // only the streams are closed
	}
	configured, err := ss.filter.Headers(ctx)
	if err != nil { // the upstream will reject the request without credentials
		configured = nil
	}
	ss.transport.Close(ctx, wire.RequestHeader(configured, ss.header))
}

// verdict is the state of a session after a call.
type verdict uint8

const (
	sessionGood    verdict = iota
	sessionExpired         // the upstream rejected the session; start another
	eraMismatch            // the upstream no longer supports this era; probe again
)

// classify returns the state of the session after a call. unprocessed reports
// whether the upstream provably did not process the request, so that any
// request can be retried. It is false for sessionGood.
func (ss *session) classify(answer transport.Reply, err error) (v verdict, unprocessed bool) {
	if err == nil && answer.RPCError != nil {
		code := wire.ErrorCode(answer.RPCError)
		if code == upstream.CodeUnsupportedProtocolVersion || upstream.IsModernCode(code) && !ss.stateless {
			return eraMismatch, answer.Refused && upstream.IsRevisionCode(code)
		}
	}
	if err == nil {
		return sessionGood, false
	}
	var ended *upstream.Ended
	if errors.As(err, &ended) {
		return sessionExpired, false
	}
	var away *transport.Refusal
	if !errors.As(err, &away) || !away.IsUnknownHere() {
		return sessionGood, false
	}
	held := ss.transport.HoldsSession()
	if held {
		return sessionExpired, away.ProvesUnprocessed(held)
	}
	return eraMismatch, away.ProvesUnprocessed(held)
}

// gatewaySessionKey returns the key of the gateway's own session, used to sync, watch and
// subscribe.
func gatewaySessionKey() sessionKey { return sessionKey{own: true} }

// ownClient returns the client of the gateway's own requests.
func ownClient() upstream.Client { return upstream.Client{Capabilities: []byte(capabilities.Sync)} }

// canRepeat reports whether a request can be sent once more after an outcome
// with this verdict. After the loss of the session or the connection a
// repeatable request can. Any other request can only if the upstream cannot
// have processed it. A truncated response that could not be resumed is not a
// lost connection.
func canRepeat(r *upstream.Request, v verdict, unprocessed bool, err error) bool {
	if v != sessionGood {
		return unprocessed || r.IsRepeatable()
	}
	lost := transport.LossOf(err)
	return lost != nil && (lost.Unsent || r.IsRepeatable())
}
