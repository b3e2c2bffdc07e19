package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// Limits for calls that wait for input of a stateless client.
const (
	parkedTime  = 60 * time.Second // maximum time until the client continues
	parkedCalls = 1000             // maximum number in the process
)

// parkedPurpose distinguishes the gateway's request states from other sealed
// tokens.
const parkedPurpose = "parked call"

// pendingCall is a call to a handshake server that sent a request to the client
// during the call. A stateless client receives that request in an
// input_required result, and continues the call with another request.
type pendingCall struct {
	relay     *relay
	requests  chan *clientRequest
	done      chan outcome
	cancel    context.CancelFunc
	waiting   *clientRequest // the request sent to the client; set while parked
	expiry    *time.Timer
	questions int // requests for input so far
}

type clientRequest struct {
	method string
	params []byte
	answer chan []byte // receives the raw result, or nil if the client sent none
}

type outcome struct {
	response *upstream.Response
	err      error
}

// requestState binds the continuing request to its pending call. It is sealed,
// because the client, which returns it, is not trusted.
type requestState struct {
	ID        string `json:"i"`
	Project   string `json:"p"`
	Principal string `json:"c"`
	Method    string `json:"m"`
	Name      string `json:"n"`
	Forwarded string `json:"f,omitempty"` // keyed hash of the forwarded headers
}

// pendingCalls contains the pending calls of this process.
type pendingCalls struct {
	tokens *secrets.KeyRing
	mu     sync.Mutex
	calls  map[string]*pendingCall
}

func newPendingCalls(tokens *secrets.KeyRing) *pendingCalls {
	return &pendingCalls{tokens: tokens, calls: map[string]*pendingCall{}}
}

// callParkable calls an upstream server for a stateless client. The call runs
// in its own goroutine, so that a later request can respond to requests of the
// server.
func (g *Gateway) callParkable(ctx context.Context, client *Client, out *preparedRequest, request *upstream.Request, r *relay) (*upstream.Response, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &pendingCall{relay: r, requests: make(chan *clientRequest), done: make(chan outcome, 1), cancel: cancel, questions: out.questions}
	request.Serve = func(ctx context.Context, method string, params []byte) (result, rpcError []byte) {
		if !clientSupports(r.client.Load(), method) {
			return nil, rpcErrorOf(upstream.CodeMethodNotFound, "The client doesn't support "+method+".")
		}
		q := &clientRequest{method: method, params: params, answer: make(chan []byte, 1)}
		select {
		case p.requests <- q:
		case <-ctx.Done():
			return nil, rpcErrorOf(upstream.CodeInternalError, "The call has ended.")
		}
		select {
		case answer := <-q.answer:
			if answer == nil {
				return nil, rpcErrorOf(upstream.CodeInternalError, "The client did not respond.")
			}
			return answer, nil
		case <-ctx.Done():
			return nil, rpcErrorOf(upstream.CodeInternalError, "The call has ended.")
		}
	}
	g.Tasks.Go("pending call", func() {
		var o outcome
		o.err = g.Tasks.Try("pending call", func() (err error) {
			defer cancel()
			defer r.finish()
			o.response, err = g.sendTask(running, out, request)
			return err
		})
		p.done <- o
	})
	return g.await(ctx, client, p, out)
}

// await waits until the call ends or sends a request to the client, and parks
// it in that case. If the client disconnects, it cancels the call.
func (g *Gateway) await(ctx context.Context, client *Client, p *pendingCall, out *preparedRequest) (*upstream.Response, error) {
	select {
	case o := <-p.done:
		return o.response, o.err
	case q := <-p.requests:
		p.waiting = q
		p.questions++
		state, err := g.parked.park(client, p, out, g.Tasks)
		if err != nil {
			p.cancel()
			return nil, err
		}
		result := append([]byte(`{"resultType":"input_required","inputRequests":{"`+inputName+`":{"method":`), rawjson.Quote(q.method)...)
		if q.params != nil {
			result = append(append(result, `,"params":`...), q.params...)
		}
		result = append(append(result, `}},"requestState":`...), rawjson.Quote(state)...)
		return &upstream.Response{Result: append(result, '}'), Version: VersionLatestHandshake}, nil
	case <-ctx.Done():
		p.cancel()
		return nil, ctx.Err()
	}
}

// inputName is the name of the only input request of a pending call.
const inputName = "input"

// resume continues a pending call with the client's response.
func (g *Gateway) resume(ctx context.Context, client *Client, p *pendingCall, out *preparedRequest) (*upstream.Response, error) {
	p.relay.continueWith(client, out.params)
	p.waiting.answer <- out.params.Object("inputResponses").Get(inputName)
	p.waiting = nil
	out.questions = p.questions
	return g.await(ctx, client, p, out)
}

func (l *pendingCalls) park(client *Client, p *pendingCall, out *preparedRequest, tasks *background.Tasks) (state string, err error) {
	s := requestState{ID: rand.Text(), Project: client.Principal.ProjectID(), Principal: client.Principal.Caller(), Method: out.method, Name: out.name, Forwarded: out.target.Forwarded}
	plain, err := json.Marshal(s)
	if err != nil {
		return "", fault.Internal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) >= parkedCalls {
		return "", fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Too many calls are waiting for input. Retry later.")
	}
	l.calls[s.ID] = p
	p.expiry = time.AfterFunc(parkedTime, tasks.Func("pending call expiry", func() {
		if l.remove(s.ID) != nil {
			p.cancel()
		}
	}))
	return l.tokens.SealToken(parkedPurpose, plain), nil
}

func (l *pendingCalls) remove(id string) *pendingCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.calls[id]
	delete(l.calls, id)
	return p
}

// take removes and returns the pending call that the request continues. It
// returns nil if requestState is absent or was created by a stateless server,
// INVALID_PARAMETER for the state of another call or client, and
// UPSTREAM_UNAVAILABLE for a call that has ended or waits in another process.
func (l *pendingCalls) take(client *Client, out *preparedRequest) (*pendingCall, error) {
	state, ok := out.params.String("requestState")
	if !ok {
		return nil, nil
	}
	plain, notOurs := l.tokens.OpenToken(parkedPurpose, state)
	if notOurs != nil { // created by a stateless server, which receives it unchanged
		return nil, nil //nolint:nilerr // the state of a server is not an error
	}
	var s requestState
	if json.Unmarshal(plain, &s) != nil || s.Project != client.Principal.ProjectID() || s.Principal != client.Principal.Caller() || s.Method != out.method || s.Name != out.name || s.Forwarded != out.target.Forwarded {
		return nil, fault.Invalid("requestState belongs to another call. Send the one of this call's result.")
	}
	p := l.remove(s.ID)
	if p == nil {
		return nil, fault.Upstream(fault.CodeUpstreamUnavailable, "The call that requestState continues has ended. Send the request again without requestState.")
	}
	p.expiry.Stop()
	return p, nil
}
