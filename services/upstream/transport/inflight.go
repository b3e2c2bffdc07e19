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

// inFlight are the calls whose upstream speaks on one stream. Progress says by
// its token which call it belongs to. A question says nothing, so it belongs to
// a call only when no other could have caused it; otherwise one client would be
// shown what is meant for another.
type inFlight struct {
	Audience

	mu      sync.Mutex
	waiting map[int64]*waiter
	strays  bool // of several clients, one gave up a call that may still ask
}

// waiter is a call that waits for its answer.
type waiter struct {
	x       *Exchange
	ctx     context.Context
	answer  chan Reply        // holds one; only where answers come on the stream
	notices chan wire.Message // for the caller's own pace, so that a slow one delays nobody; nil when it wants none
}

// responder answers what an upstream asks.
type responder struct {
	ctx    context.Context
	header http.Header
	serve  func(ctx context.Context, method string, params []byte) (result, rpcError []byte)
}

// Audience says whose calls go through a session.
type Audience struct {
	Asked bool // they have capabilities, so that the upstream may ask them
	Mixed bool // several clients that may be asked
	Own   bool // the gateway itself
}

// newInFlight returns the calls of a session, of which there are none yet.
func newInFlight(a Audience) inFlight {
	return inFlight{Audience: a, waiting: map[int64]*waiter{}}
}

// remove ends the part of a call. An error that does not say that the call was
// turned away leaves open whether the upstream works on it, and asks for it,
// any longer. The caller holds the mutex.
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

// strayed reports that further calls should not join these, because what the
// upstream asks could be for one that was given up.
func (f *inFlight) strayed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.strays
}

// responder returns who answers what the upstream asks now: the only call in
// flight, or else nobody, which is said by nobody's way.
func (f *inFlight) responder(nobody responder) responder {
	if f.Own {
		nobody.serve = AnswerWithoutClient
		return nobody
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
	nobody.serve = nil
	if canAnswer {
		nobody.serve = refuseAsBusy
	}
	return nobody
}

// refuseAsBusy answers a question that may belong to any of several calls.
func refuseAsBusy(context.Context, string, []byte) (result, rpcError []byte) {
	return nil, []byte(`{"code":-32603,"message":"the client is busy with several calls, and the question does not say for which of them it is: ask on the stream of the call"}`)
}

// progress hands a progress notification to the call whose token it carries.
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
			default: // the receiver is slow, or wants none; progress may be skipped
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
		return nil, []byte(`{"code":-32603,"message":"no client is connected: the gateway is reading the server's inventory"}`)
	default:
		return nil, nil
	}
}
