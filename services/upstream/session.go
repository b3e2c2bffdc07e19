package upstream

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mcpgateway/services/rawjson"
)

// sessionKey tells the sessions with one server apart. A session belongs to
// one client where the target says so, and to one set of capabilities always,
// because they are declared once for the whole session.
type sessionKey struct {
	client       string
	capabilities string
	// alone marks a session for a single call of a client that has no
	// session of its own.
	alone bool
	// own marks the session that the gateway uses for itself. No call of a
	// client goes through it.
	own bool
}

// audience returns whose calls go through the session.
func (k sessionKey) audience() audience {
	return audience{asked: k.capabilities != "", mixed: k.capabilities != "" && k.client == "" && !k.alone && !k.own, own: k.own}
}

// session is an established way to an upstream. For revision 2026-07-28 it
// holds nothing at the upstream.
type session struct {
	key       sessionKey
	target    *Target
	filter    *credentialFilter
	place     place
	stateless bool
	transport transport
	header    http.Header // what the protocol fixes in every request
	about     *Description
	opened    time.Time
	// heard takes what the upstream says, which may concern others than the
	// call on whose stream it came.
	heard   func(method string, params []byte)
	callers *attribution
	level   sessionLevel
	// inUse ends when the session is taken out of use.
	inUse  context.Context
	retire context.CancelFunc

	// Guarded by the server's mutex.
	inflight   int
	lastUsed   time.Time
	retired    bool // ends when its last call has
	ended      bool
	held       bool            // its client's own stream is open
	subscribed map[string]bool // the resources that the upstream watches for it
}

// newAttribution returns what finds the clients of a session's notifications.
func (p *Pool) newAttribution(t *Target, key sessionKey) *attribution {
	return newAttribution(key.client != "" || key.alone, key.own,
		func(params []byte) bool { return p.completed(t.ServerID, params) }, func() { p.unattributed.Add(1) })
}

// call sends one request. The error is the context's, a refusal or a fault.
// aside marks a request of the gateway's that belongs to a call.
func (ss *session) call(ctx context.Context, p *Pool, t *Target, r *Request, aside bool) (reply, error) {
	configured, err := ss.filter.headersOf(ctx, t)
	if err != nil {
		return reply{}, err
	}
	x := &exchange{
		id: p.nextID(), header: requestHeader(configured, ss.header),
		stateless: ss.stateless, notify: r.Notify, heard: ss.heard, serve: r.Serve, aside: aside, logs: r.LogLevel != "", memory: r.Memory,
	}
	if ss.key.own {
		x.serve = answerWithoutClient
	}
	if ss.stateless {
		var name string
		params, err := r.ParamsObject()
		if err != nil {
			return reply{}, err
		}
		if x.body, name, err = statelessRequest(x.id, r.Method, params, r.Client.Capabilities, p.self); err != nil {
			return reply{}, err
		}
		x.header[headerMethod] = []string{headerValue(r.Method)}
		if name != "" {
			x.header[headerName] = []string{headerValue(name)}
		}
		r.ParamHeaders.set(x.header, r)
	} else {
		params, err := handshakeParams(r.RawParams())
		if err != nil {
			return reply{}, err
		}
		if r.Notify != nil {
			x.progressToken = progressToken(params)
		}
		x.body = appendRequest(make([]byte, 0, len(params)+len(r.Method)+64), x.id, r.Method, params)
	}
	setTrace(x.header, r.Client.TraceParent, r.Client.TraceState)
	if r.Client.Hops != "" {
		x.header[HeaderHops] = []string{p.hopsWith(r.Client.Hops)}
	}
	answer, err := ss.transport.call(ctx, x)
	x.settle(answer)
	if err != nil && ctx.Err() != nil && !ss.stateless {
		ss.cancel(ctx, p, x)
	}
	return answer, err
}

// response returns an answer as callers get it.
func (ss *session) response(answer reply) *Response {
	return &Response{Result: answer.result, Error: answer.rpcError, Stateless: ss.stateless, Version: ss.about.ProtocolVersion}
}

// requestHeader returns the header of one request. The error is that of
// Target.Headers.
func (ss *session) requestHeader(ctx context.Context) (http.Header, error) {
	configured, err := ss.filter.headers(ctx)
	if err != nil {
		return nil, err
	}
	return requestHeader(configured, ss.header), nil
}

// cancel tells the upstream that nobody waits for the answer any more. With a
// handshake a closed connection does not say so (MCP 2025-03-26,
// "Cancellation").
func (ss *session) cancel(ctx context.Context, p *Pool, x *exchange) {
	why := "the caller cancelled the request"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the request timed out"
	}
	params := strconv.AppendInt([]byte(`{"requestId":`), x.id, 10)
	params = rawjson.AppendString(append(params, `,"reason":`...), why)
	body := appendNotification(nil, "notifications/cancelled", append(params, '}'))
	header := maps.Clone(x.header)
	p.background(maxReplyTime, func(ctx context.Context) {
		_ = ss.transport.notify(ctx, header, body)
	})
}

// end tells the upstream that the session is over, best effort.
func (ss *session) end(ctx context.Context) {
	configured, err := ss.filter.headers(ctx)
	if err != nil { // the upstream would refuse it without credentials
		configured = nil
	}
	ss.transport.close(ctx, requestHeader(configured, ss.header))
}

// verdict says what an outcome tells about the session it came from.
type verdict uint8

const (
	sessionGood verdict = iota
	sessionOver         // the upstream does not know it any more; start another
	eraOver             // the upstream does not speak like this any more; probe again
)

// classify returns the state of the session after a call. unprocessed reports
// whether the upstream provably did not process the request, so that any
// request may be repeated. It is false for sessionGood.
func (ss *session) classify(answer reply, err error) (v verdict, unprocessed bool) {
	if err == nil && answer.rpcError != nil {
		code := errorCode(answer.rpcError)
		if code == CodeUnsupportedProtocolVersion || isModernCode(code) && !ss.stateless {
			return eraOver, answer.refused && isRevisionCode(code)
		}
	}
	if err == nil {
		return sessionGood, false
	}
	var away *refusal
	if !errors.As(err, &away) || !away.isUnknownHere() {
		return sessionGood, false
	}
	held := ss.transport.holdsSession()
	if held {
		return sessionOver, away.provesUnprocessed(held)
	}
	return eraOver, away.provesUnprocessed(held)
}

// hopsWith returns the header value for the request of a client that came with
// these hops.
func (p *Pool) hopsWith(client string) string {
	return strings.Join(append(Hops(client), Hops(p.instance)...), ", ")
}
