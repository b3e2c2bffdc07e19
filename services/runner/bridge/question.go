//go:build linux || darwin

package bridge

import (
	"bytes"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/runner/stdio"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

const (
	codeInternal = upstream.CodeInternalError
	// maxQuestions is the maximum number of requests of a process without a response.
	maxQuestions = 64
	severalCalls = "several calls are under way: use sessionMode per-client" // documented; language:ignore
	// questionFrame is the maximum size of a request besides its method and params.
	questionFrame = 128
	// maxHeld is the maximum number of requests of a process of one client that wait
	// for a call.
	maxHeld = 8
)

// question is a request of the program to its client.
type question struct {
	id     []byte // raw, of the program
	method string
	params []byte
	call   *call // that it was sent to
}

// serve handles a request of the program.
func (p *peer) serve(id []byte, method string, params []byte) {
	switch {
	case method == "ping":
		_ = p.conn.Respond(id, stdio.Response{Result: []byte("{}")})
	case p.stateless.Load():
		p.reject(id, upstream.CodeMethodNotFound, "Revision 2026-07-28 has no requests of servers.")
	case method == "roots/list" && !p.relaysRoots:
		p.reject(id, upstream.CodeMethodNotFound, "Roots are not relayed to this program.")
	default:
		p.relay(&question{id: id, method: method, params: params})
	}
}

// reject responds to a request of the program with an error. If the program does not
// read its input, the response is lost.
func (p *peer) reject(id []byte, code int64, text string) {
	_ = p.conn.Respond(id, stdio.Response{RPCError: rpcError(code, text)})
}

// relay sends a request of the program to the only call in flight.
func (p *peer) relay(q *question) {
	p.mu.Lock()
	code, text := p.place(q)
	p.mu.Unlock()
	if text != "" {
		p.reject(q.id, code, text)
	}
}

// place sends a request to its call, or holds it. If neither is possible, it returns
// an error. The caller must hold mu.
func (p *peer) place(q *question) (code int64, text string) {
	c, n := p.soleCall()
	switch {
	case len(q.params)+len(q.method) > maxMessage-questionFrame:
		return codeInternal, "the request is larger than 1 MiB"
	case len(p.questions)+len(p.held) >= maxQuestions:
		return codeInternal, "too many requests are without a response"
	case n > 1:
		return codeInternal, severalCalls
	case c == nil && p.perClient && len(p.held) < maxHeld:
		p.held = append(p.held, q)
	case c == nil:
		return codeInternal, "no call is in progress"
	case !c.askable:
		return upstream.CodeMethodNotFound, "The client of this call accepts no requests."
	default:
		p.deliver(q, c)
	}
	return 0, ""
}

// deliver sends a request to the client of a call. The caller must hold mu.
func (p *peer) deliver(q *question, c *call) {
	id := p.bridge.questions.Add(1)
	q.call = c
	p.questions[id] = q
	c.sink.put(wire.AppendRequest(nil, id, q.method, q.params))
}

// settle passes a client's response to the program. Responses without a request of
// that session are dropped.
func (p *peer) settle(s *session, m wire.Message) {
	p.mu.Lock()
	var found *question
	for id, q := range p.questions {
		if q.call.session == s && m.IsResponseTo(id) {
			found = q
			delete(p.questions, id)
			break
		}
	}
	p.mu.Unlock()
	if found != nil {
		_ = p.conn.Respond(found.id, stdio.Response{Result: m.Result, RPCError: m.RPCError})
	}
}

// withdraw cancels a request of the program at its client.
func (p *peer) withdraw(params []byte) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return
	}
	canceled := o.Get("requestId")
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, q := range p.held {
		if bytes.Equal(q.id, canceled) {
			p.held = append(p.held[:i], p.held[i+1:]...)
			return
		}
	}
	for id, q := range p.questions {
		if bytes.Equal(q.id, canceled) {
			o.Set("requestId", number(id))
			q.call.sink.notify(wire.AppendNotification(nil, notifyCancelled, o.Bytes()))
			delete(p.questions, id)
			return
		}
	}
}
