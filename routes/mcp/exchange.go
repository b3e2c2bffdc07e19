package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// exchange is one request whose answer becomes a stream as soon as anything
// is to be sent before it, or it takes long.
type exchange struct {
	endpoint  *Endpoint
	client    *gateway.Client
	message   *message
	requestID string
	open      func() *web.Stream // while the handler waits

	session *liveSession // nil for clients without one
	call    *runningCall
	done    chan outcome
	early   chan struct{} // closed when something is to be sent before the answer

	mu       sync.Mutex
	stream   *web.Stream // nil until something is to be sent
	started  bool        // early is closed
	answered bool        // without a stream
	gone     bool        // the client is
}

// outcome is how a request was answered.
type outcome struct {
	result []byte
	err    error
	trace  gateway.Trace
}

// answerLazily answers a request of a client that takes streams. only says
// that it takes nothing else.
func (e *Endpoint) answerLazily(c *fiber.Ctx, project *toolset.Snapshot, client *gateway.Client, m *message, only bool) error {
	event := web.EventOf(c)
	ctx, cancel := context.WithCancel(c.UserContext())
	x := &exchange{endpoint: e, client: client, message: m, requestID: event.RequestID, done: make(chan outcome, 1), early: make(chan struct{})}
	closed := func() {} // what is to be done when the client can get no more
	x.open = func() *web.Stream {
		return web.NewStream(c, web.StreamOptions{KeepAlive: e.KeepAlive, Closed: func() { closed() }})
	}
	unwatch := func() {}
	client.Notify = x.notify
	switch {
	case client.Stateless():
		// To go away is how a stateless client cancels; a handshake client
		// may lose its connection and its call runs on.
		unwatch = web.WatchDisconnect(c, func() {
			cancel()
			x.lost()
		})
	case client.SessionID != "":
		x.session = e.live.enter(client.SessionID)
		client.Ask = x.ask
	}
	x.call = x.session.begin(m.id, cancel)
	e.workers.do(func() {
		defer cancel()
		defer x.session.leave()
		var o outcome
		o.result, o.err = e.handle(ctx, project, client, m, &o.trace)
		x.done <- o
	})

	o, answered := x.wait(e.Hold, only)
	if !answered {
		stream := x.toClient()
		free, err := e.slots.take(streamOwner(c, client.Principal))
		if err == nil {
			closed = func() {
				unwatch()
				free()
				if client.Stateless() {
					cancel()
				}
			}
			event.Hold()
			go x.finish(stream, event)
			return stream.Answer(c)
		}
		// Too many streams are open. The call runs and may have had its
		// effects, so it gets its answer, if not what comes before it.
		stream.Discard()
		o = <-x.done
	}
	unwatch()
	x.session.done(m.id, x.call)
	event.Tool, event.Upstream = o.trace.Tool, o.trace.Server
	return answer(c, client, m, o.result, o.err)
}

// wait returns the outcome when it comes before anything else and in time.
func (x *exchange) wait(hold time.Duration, only bool) (o outcome, answered bool) {
	if only {
		return outcome{}, false
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	select {
	case <-x.early:
		return outcome{}, false
	case <-timer.C:
		return outcome{}, false
	case o = <-x.done:
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream != nil { // what was sent before the answer must not be lost
		x.done <- o
		return outcome{}, false
	}
	x.answered = true
	return o, true
}

// finish ends the stream with the answer.
func (x *exchange) finish(stream *web.Stream, event *web.Event) {
	o := <-x.done
	cancelled := x.session.done(x.message.id, x.call)
	event.Tool, event.Upstream = o.trace.Tool, o.trace.Server
	switch {
	case o.err == nil:
		stream.EndWith(messageEvent, appendResult(nil, x.message.id, o.result))
	case cancelled:
		stream.End() // who cancelled wants no answer (MCP 2025-11-25, "Cancellation")
	default:
		event.Fault(o.err)
		stream.EndWith(messageEvent, errorAnswer(o.err, x.client, x.message.id).append(nil, x.requestID))
	}
	event.Release()
}

// toClient returns the stream to the client, which it opens when there is
// none, or nil when the request was answered without one.
func (x *exchange) toClient() *web.Stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream == nil && !x.answered {
		x.stream = x.open()
		if x.gone {
			x.stream.Break()
		}
	}
	return x.stream
}

// lost ends the stream because the client went away.
func (x *exchange) lost() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = true
	if x.stream != nil {
		x.stream.Break()
	}
}

// notify is the client's Notify. It never waits, and late calls do nothing.
func (x *exchange) notify(method string, params []byte) {
	if stream := x.toClient(); stream != nil {
		sendNotification(stream, method, params)
		x.start()
	}
}

// ask is the client's Ask.
func (x *exchange) ask(ctx context.Context, method string, params []byte) (result, rpcError []byte, err error) {
	stream := x.toClient()
	if stream == nil {
		return nil, nil, clientGone()
	}
	return x.session.ask(ctx, stream, x.start, method, params)
}

// start makes the answer a stream.
func (x *exchange) start() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.started {
		x.started = true
		close(x.early)
	}
}

// sendNotification sends a notification; only progress may be lost.
func sendNotification(stream *web.Stream, method string, params []byte) {
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
		return "address " + c.IP()
	}
	return principal.ProjectID() + " " + principal.ID()
}
