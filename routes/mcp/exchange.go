package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/gateway"
	"mcpgateway/services/membudget"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/sse"
)

// exchange is one request whose answer becomes a stream as soon as anything
// is to be sent before it, or it takes long. The request is handled on the
// goroutine of its connection, because to hand it to another one and its
// outcome back costs a third of a call.
type exchange struct {
	endpoint *Endpoint
	request  *fiber.Ctx // until it is answered
	ctx      context.Context
	cancel   context.CancelFunc
	client   *gateway.Client
	call     runningCall
	session  *liveSession // nil for clients without one
	lease    membudget.Lease
	trace    gateway.Trace

	mu       sync.Mutex
	stream   *sse.Stream // nil until something is to be sent
	refused  error       // why there can be no stream
	answered bool        // nothing may be sent any more
	gone     bool        // the client is
}

// answerLazily answers a request of a client that takes streams. only says
// that it takes nothing else.
func (e *Endpoint) answerLazily(c *fiber.Ctx, project *toolset.Snapshot, client *gateway.Client, m *message, only bool) error {
	x := &exchange{endpoint: e, request: c, client: client}
	x.ctx, x.cancel = context.WithCancel(c.UserContext())
	defer x.cancel()
	x.call = runningCall{id: m.id, cancel: x.cancel}
	x.lease.Init(e.Results)
	client.Memory = &x.lease
	client.Notify = x.notify
	switch {
	case client.Stateless():
		// To go away is how a stateless client cancels; a handshake client
		// may lose its connection and its call runs on.
		defer conn.WatchDisconnect(c, x.lost)()
	case client.SessionID != "":
		x.session = e.live.enter(client.SessionID)
		defer x.session.leave()
		client.Ask = x.ask
	}
	x.session.begin(&x.call)
	if only {
		x.becomeStream() // without a free one it gets JSON
	}
	late := time.AfterFunc(e.Hold, web.EventOf(c).Background.Func("late answer", x.becomeStream))
	result, err := e.handle(x.ctx, project, client, m, &x.trace)
	late.Stop()
	cancelled := x.session.done(&x.call)
	stream := x.end()
	event := web.EventOf(c)
	event.Tool, event.Upstream = x.trace.Tool, x.trace.Server
	switch {
	case stream == nil:
		return answer(c, client, m, result, err, x.lease.Release)
	case err == nil:
		stream.EndWithParts(messageEvent, [][]byte{appendResultHead(nil, m.id), result, {'}'}})
	case cancelled:
		stream.End() // who cancelled wants no answer (MCP 2025-11-25, "Cancellation")
	default:
		event.Fault(err)
		stream.EndWith(messageEvent, errorAnswer(err, client, m.id).append(nil, event.Errors()))
	}
	stream.Wait(c)
	x.lease.Release()
	return nil
}

// open makes the answer a stream. It is called once at most, while the request
// is handled.
func (x *exchange) open() (*sse.Stream, error) {
	free, err := x.endpoint.slots.take(streamOwner(x.request, x.client.Principal))
	if err != nil {
		return nil, err
	}
	stream := sse.NewStream(x.request, sse.StreamOptions{KeepAlive: x.endpoint.KeepAlive, Closed: func() {
		free()
		if x.client.Stateless() {
			x.cancel()
		}
	}})
	stream.AnswerAhead(x.request)
	return stream, nil
}

// becomeStream makes the answer a stream now, if it can be one.
func (x *exchange) becomeStream() { _, _ = x.toClient() }

// toClient returns the stream to the client, which it opens when there is
// none. It returns why there is none else: too many are open, and the call,
// which may have had its effects, goes on to its answer; or that was given.
func (x *exchange) toClient() (*sse.Stream, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.stream != nil:
		return x.stream, nil
	case x.answered:
		return nil, clientGone()
	case x.refused != nil:
		return nil, x.refused
	}
	if x.stream, x.refused = x.open(); x.stream != nil && x.gone {
		x.stream.Break()
	}
	return x.stream, x.refused
}

// end returns the stream, if there is one, and lets none be opened any more.
func (x *exchange) end() *sse.Stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answered = true
	return x.stream
}

// lost ends the call and the stream because the client went away.
func (x *exchange) lost() {
	x.cancel()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = true
	if x.stream != nil {
		x.stream.Break()
	}
}

// notify is the client's Notify. It never waits, and late calls do nothing.
func (x *exchange) notify(method string, params []byte) {
	if stream, _ := x.toClient(); stream != nil {
		sendNotification(stream, method, params)
	}
}

// ask is the client's Ask.
func (x *exchange) ask(ctx context.Context, method string, params []byte) (result, rpcError []byte, err error) {
	stream, err := x.toClient()
	if err != nil {
		return nil, nil, err
	}
	return x.session.ask(ctx, stream, method, params)
}

// sendNotification sends a notification; only progress may be lost.
func sendNotification(stream *sse.Stream, method string, params []byte) {
	frame := appendNotification(make([]byte, 0, len(params)+len(method)+64), method, params)
	if method == progressMethod {
		stream.Offer(messageEvent, progressMethod, frame)
		return
	}
	stream.Send(messageEvent, frame)
}

const progressMethod = "notifications/progress"

// anonymous is the id of every principal of a project without access control.
const anonymous = "anonymous"

// streamOwner returns whom an open stream counts for: the principal, or the
// address of a client that is nobody in particular.
func streamOwner(c *fiber.Ctx, principal access.Principal) string {
	if principal.ID() == anonymous {
		return "address " + web.ClientIP(c)
	}
	return principal.ProjectID() + " " + principal.ID()
}
