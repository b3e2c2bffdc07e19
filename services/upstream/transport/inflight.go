package transport

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/wire"
)

// inFlight is the set of calls that share a stream. A progress notification
// identifies its call by a token. A server request does not identify its call,
// so it is routed to a call only if no other could have caused it. Otherwise a
// client could see another client's data.
type inFlight struct {
	Audience

	mu      sync.Mutex
	waiting map[int64]*waiter
	strays  bool // a call of one of several clients was abandoned and can still cause server requests
}

// waiter is a call that waits for its reply.
type waiter struct {
	x       *Exchange
	ctx     context.Context
	answer  chan Reply        // capacity 1; nil if replies do not arrive on the shared stream
	notices chan wire.Message // queue, so that a slow caller does not delay others; nil without Notify
}

// responder handles a request of the upstream.
type responder struct {
	ctx    context.Context
	header http.Header
	serve  func(ctx context.Context, method string, params []byte) (result, rpcError []byte)
}

// Audience describes the users of a session.
type Audience struct {
	Asked bool // they have capabilities, so server requests are possible
	Mixed bool // several clients can receive server requests
	Own   bool // the gateway itself
}

// newInFlight returns an empty set of calls.
func newInFlight(a Audience) inFlight {
	return inFlight{Audience: a, waiting: map[int64]*waiter{}}
}

// remove removes a call. Unless err shows that the request was rejected, the
// upstream may still process it and send server requests. The caller must hold
// mu.
func (f *inFlight) remove(w *waiter, err error) {
	delete(f.waiting, w.x.ID)
	if w.x.Aside {
		return
	}
	var away *Refusal
	if err != nil && !errors.As(err, &away) && !fault.Is(err, fault.CodeUpstreamUnauthorized) {
		f.strays = f.strays || f.Mixed
	}
}

// hasAbandoned reports whether new calls must use another session, because a server
// request could belong to an abandoned call.
func (f *inFlight) hasAbandoned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.strays
}

// responder returns the handler of a server request: the only call in flight,
// or else fallback, which rejects the request.
func (f *inFlight) responder(fallback responder) responder {
	if f.Own {
		fallback.serve = AnswerWithoutClient
		return fallback
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	canAnswer, calls := false, 0
	for _, w := range f.waiting {
		if !w.x.Aside {
			calls++
		}
	}
	for _, w := range f.waiting {
		if w.x.Aside {
			continue
		}
		if calls == 1 && !f.strays {
			return responder{ctx: w.ctx, header: w.x.Header, serve: w.x.Serve}
		}
		canAnswer = canAnswer || w.x.Serve != nil
	}
	fallback.serve = nil
	if canAnswer {
		fallback.serve = rejectBusy
	}
	return fallback
}

// rejectBusy rejects a server request that could belong to any of several
// calls.
func rejectBusy(context.Context, string, []byte) (result, rpcError []byte) {
	return nil, []byte(`{"code":-32603,"message":"Several calls are in flight, and the request could belong to any of them. Send it on the stream of its call."}`)
}

// progress passes a progress notification to the call with its token.
func (f *inFlight) progress(m wire.Message) {
	o, err := rawjson.ParseObject(m.Params, rawjson.Lenient)
	if err != nil {
		return
	}
	token := o.Get("progressToken")
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.waiting {
		if token != nil && bytes.Equal(w.x.ProgressToken, token) {
			select {
			case w.notices <- m:
			default: // the receiver is slow or absent; progress can be dropped
			}
			return
		}
	}
}

// AnswerWithoutClient returns the response to a request of an upstream on the
// gateway's own session, which has no user: no roots, a cancelled elicitation, an
// error for sampling, and nothing for other requests, which are rejected.
func AnswerWithoutClient(_ context.Context, method string, _ []byte) (result, rpcError []byte) {
	switch method {
	case "roots/list":
		return []byte(`{"roots":[]}`), nil
	case "elicitation/create":
		return []byte(`{"action":"cancel"}`), nil
	case "sampling/createMessage":
		return nil, []byte(`{"code":-32603,"message":"No client is connected: the gateway is syncing the server."}`)
	default:
		return nil, nil
	}
}
