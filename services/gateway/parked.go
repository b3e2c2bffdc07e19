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

// Bounds of calls that wait for a stateless client's input.
const (
	parkedTime  = 60 * time.Second // how long a client may take to continue
	parkedCalls = 1000             // in the whole process
)

// parkedPurpose keeps request states of ours apart from every other sealed token.
const parkedPurpose = "parked call"

// parkedCall is a call to a handshake upstream that asked something in the
// middle. A stateless client learns of it by an input_required result and
// continues it with a request of its own.
type parkedCall struct {
	relay   *relay
	asks    chan *question
	done    chan outcome
	cancel  context.CancelFunc
	waiting *question // what the client was asked; set while parked
	expiry  *time.Timer
}

type question struct {
	method string
	params []byte
	answer chan []byte // the raw result; closed without one when the call ends
}

type outcome struct {
	response *upstream.Response
	err      error
}

// requestState is what the client carries from the question to the answer.
// It is sealed, because the client is not to be trusted with it.
type requestState struct {
	ID        string `json:"i"`
	Project   string `json:"p"`
	Principal string `json:"c"`
	Method    string `json:"m"`
	Name      string `json:"n"`
}

// parkingLot holds the parked calls of this process.
type parkingLot struct {
	tokens *secrets.KeyRing
	mu     sync.Mutex
	calls  map[string]*parkedCall
}

func newParkingLot(tokens *secrets.KeyRing) *parkingLot {
	return &parkingLot{tokens: tokens, calls: map[string]*parkedCall{}}
}

// callParkable calls an upstream for a stateless client in such a way that a
// question in the middle can be answered by a later request.
func (g *Gateway) callParkable(ctx context.Context, client *Client, out *outgoing, request *upstream.Request, r *relay) (*upstream.Response, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &parkedCall{relay: r, asks: make(chan *question), done: make(chan outcome, 1), cancel: cancel}
	request.Serve = func(ctx context.Context, method string, params []byte) (result, rpcError []byte) {
		if !mayAsk(r.client.Load(), method) {
			return nil, rpcErrorOf(upstream.CodeMethodNotFound, "the client did not declare what "+method+" needs")
		}
		q := &question{method: method, params: params, answer: make(chan []byte, 1)}
		select {
		case p.asks <- q:
		case <-ctx.Done():
			return nil, rpcErrorOf(upstream.CodeInternalError, "the call has ended")
		}
		select {
		case answer := <-q.answer:
			if answer == nil {
				return nil, rpcErrorOf(upstream.CodeInternalError, "the client did not answer")
			}
			return answer, nil
		case <-ctx.Done():
			return nil, rpcErrorOf(upstream.CodeInternalError, "the call has ended")
		}
	}
	g.Tasks.Go("parked call", func() {
		var o outcome
		o.err = g.Tasks.Try("parked call", func() (err error) {
			defer cancel()
			defer r.finish()
			o.response, err = g.Upstreams.Call(running, out.server.Target, request)
			return err
		})
		p.done <- o
	})
	return g.await(ctx, client, p, out)
}

// await waits for the call's end or its next question, for which it parks the
// call. A client that goes away cancels the call.
func (g *Gateway) await(ctx context.Context, client *Client, p *parkedCall, out *outgoing) (*upstream.Response, error) {
	select {
	case o := <-p.done:
		return o.response, o.err
	case q := <-p.asks:
		p.waiting = q
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

// inputName names the one question of a parked call.
const inputName = "input"

// resume continues a parked call with the client's answer.
func (g *Gateway) resume(ctx context.Context, client *Client, p *parkedCall, out *outgoing) (*upstream.Response, error) {
	p.relay.continueWith(client, out.params)
	p.waiting.answer <- out.params.Object("inputResponses").Get(inputName)
	p.waiting = nil
	return g.await(ctx, client, p, out)
}

func (l *parkingLot) park(client *Client, p *parkedCall, out *outgoing, tasks *background.Tasks) (state string, err error) {
	s := requestState{ID: rand.Text(), Project: client.Principal.ProjectID(), Principal: client.Principal.ID(), Method: out.method, Name: out.name}
	plain, err := json.Marshal(s)
	if err != nil {
		return "", fault.Internal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) >= parkedCalls {
		return "", fault.New(fault.KindUnavailable, fault.CodeUnavailable, "too many calls wait for input: try again later")
	}
	l.calls[s.ID] = p
	p.expiry = time.AfterFunc(parkedTime, tasks.Func("end of a parked call", func() {
		if l.remove(s.ID) != nil {
			p.cancel()
		}
	}))
	return l.tokens.SealToken(parkedPurpose, plain), nil
}

func (l *parkingLot) remove(id string) *parkedCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.calls[id]
	delete(l.calls, id)
	return p
}

// take returns the parked call that the request continues, or nil when its
// state is not one of ours. It returns UPSTREAM_UNAVAILABLE for a call that
// has ended, waits in another process, or was asked of another client.
func (l *parkingLot) take(client *Client, out *outgoing) (*parkedCall, error) {
	state, ok := out.params.String("requestState")
	if !ok {
		return nil, nil
	}
	plain, notOurs := l.tokens.OpenToken(parkedPurpose, state)
	if notOurs != nil { // the state of a stateless upstream, which gets it back untouched
		return nil, nil //nolint:nilerr // not one of ours is no failure
	}
	var s requestState
	if json.Unmarshal(plain, &s) != nil || s.Project != client.Principal.ProjectID() || s.Principal != client.Principal.ID() || s.Method != out.method || s.Name != out.name {
		return nil, fault.Invalid("requestState belongs to another call")
	}
	p := l.remove(s.ID)
	if p == nil {
		return nil, fault.Upstream(fault.CodeUpstreamUnavailable, "the call that this continues has ended: call again")
	}
	p.expiry.Stop()
	return p, nil
}
