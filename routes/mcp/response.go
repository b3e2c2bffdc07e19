package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/mcp/resume"
	"mcpgateway/services/access"
	"mcpgateway/services/gateway"
	"mcpgateway/services/membudget"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/sse"
)

// pendingResponse is a request whose response becomes a stream if it takes long or if
// messages must be sent before it. The request is handled on the goroutine of
// its connection, because switching to another goroutine and back takes a third
// of the time of a call.
type pendingResponse struct {
	endpoint *Endpoint
	request  *fiber.Ctx // valid until the response
	ctx      context.Context
	cancel   context.CancelFunc
	client   *gateway.Client
	call     runningCall
	session  *liveSession // nil for clients without one
	lease    membudget.Lease
	trace    gateway.RequestInfo
	until    func() time.Time // the call's time-out; nil if the stream can't be resumed

	mu       sync.Mutex
	stream   *resume.Stream // nil until the response becomes a stream
	sent     *sse.Stream    // the stream as the response to the request
	unwatch  func()         // of the stream's connection; may be nil
	refused  error          // the error of opening the stream
	answered bool           // nothing more may be sent
	gone     bool           // the client disconnected
}

// respondLazily responds to a request of a client that accepts streams. only
// means that it accepts nothing else.
func (e *Endpoint) respondLazily(c *fiber.Ctx, project *toolset.Snapshot, client *gateway.Client, m *message, only bool) error {
	x := &pendingResponse{endpoint: e, request: c, client: client}
	x.ctx, x.cancel = context.WithCancel(c.UserContext())
	defer x.cancel()
	x.call = runningCall{id: m.id, cancel: x.cancel}
	x.lease.Init(e.Results)
	client.Memory = &x.lease
	client.Notify = x.notify
	switch {
	case client.Stateless():
		// A stateless client cancels by disconnecting. Calls of handshake
		// clients continue after a lost connection.
		defer conn.WatchDisconnect(c, x.lost)()
	case client.SessionID != "":
		x.session = e.live.enter(client.SessionID)
		defer x.session.leave()
		client.Ask = x.requestClient
		if client.Version == gateway.VersionLatestHandshake && len(m.id) <= resume.MaxRequestID {
			x.until, client.OpenStream = func() time.Time { return time.Now().Add(timeLimit(project, m)) }, x.upgradeToStream
		}
	}
	x.session.begin(&x.call)
	if only {
		x.upgradeToStream() // if too many streams are open, the response is JSON
	}
	late := time.AfterFunc(e.Hold, web.EventOf(c).Background.Func("late stream", x.upgradeToStream))
	result, err := e.handle(x.ctx, project, client, m, &x.trace)
	late.Stop()
	cancelled := x.session.done(&x.call)
	stream := x.end()
	event := web.EventOf(c)
	event.Tool, event.Upstream = x.trace.Tool, x.trace.Server
	switch {
	case stream == nil:
		return sendResponse(c, client, m, result, err, x.lease.Release)
	case err == nil:
		stream.Finish([][]byte{appendResultHead(nil, m.id), result, {'}'}}, x.lease.Release)
	case cancelled:
		stream.Finish(nil, x.lease.Release) // cancelled requests have no response (MCP 2025-11-25, "Cancellation")
	default:
		event.Fault(err)
		stream.Finish([][]byte{newErrorResponse(err, client, m.id).append(nil, event.Errors())}, x.lease.Release)
	}
	if x.unwatch != nil {
		x.unwatch()
	}
	x.sent.Wait(c)
	return nil
}

// open starts the response as a stream. It is called at most once, while the
// request is handled. The caller must hold mu.
func (x *pendingResponse) open() (*resume.Stream, error) {
	free, err := x.endpoint.slots.Take(streamOwner(x.request, x.client.Principal))
	if err != nil {
		return nil, err
	}
	var stream *resume.Stream
	sent := sse.NewStream(x.request, sse.StreamOptions{KeepAlive: x.endpoint.KeepAlive, Closed: func() {
		free()
		stream.Detach(x.sent)
		if x.client.Stateless() {
			x.cancel()
		}
	}})
	x.sent, stream = sent, resume.Plain(sent)
	if x.until != nil {
		stream = x.endpoint.Resume.Begin(resume.Request{ProjectID: x.client.Principal.ProjectID(), Session: x.client.SessionID, ID: x.call.id, Until: x.until()})
		x.unwatch = conn.WatchDisconnect(x.request, func() { stream.Leave(sent) })
		stream.Attach(sent)
	}
	sent.ServeEarly(x.request)
	return stream, nil
}

// upgradeToStream starts the response as a stream, if possible.
func (x *pendingResponse) upgradeToStream() { _, _ = x.toClient() }

// toClient returns the stream of the response and opens it if necessary. It
// returns RATE_LIMITED if too many streams are open. The call then continues
// without a stream, because it may already have had effects. It returns
// UNAVAILABLE after the response.
func (x *pendingResponse) toClient() (*resume.Stream, error) {
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

// end returns the stream, or nil. Afterwards no stream is opened.
func (x *pendingResponse) end() *resume.Stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answered = true
	return x.stream
}

// lost cancels the call and breaks the stream after the client disconnected.
func (x *pendingResponse) lost() {
	x.cancel()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = true
	if x.stream != nil {
		x.stream.Break()
	}
}

// notify implements gateway.Client.Notify. It doesn't block. After the response
// it does nothing.
func (x *pendingResponse) notify(method string, params []byte) {
	if stream, _ := x.toClient(); stream != nil {
		sendNotification(stream, method, params)
	}
}

// ask implements gateway.Client.Ask.
func (x *pendingResponse) requestClient(ctx context.Context, method string, params []byte) (result, rpcError []byte, err error) {
	stream, err := x.toClient()
	if err != nil {
		return nil, nil, err
	}
	return x.session.request(ctx, stream, method, params)
}

// sendNotification sends a notification. Only progress may be dropped.
func sendNotification(stream *resume.Stream, method string, params []byte) {
	frame := appendNotification(make([]byte, 0, len(params)+len(method)+64), method, params)
	if method == progressMethod {
		stream.Offer(progressMethod, frame)
		return
	}
	stream.Send(frame)
}

const progressMethod = "notifications/progress"

// anonymous is the id of every principal of a project without access control.
const anonymous = "anonymous"

// streamOwner returns the key of the stream limit: the principal, or the IP
// address of an anonymous client.
func streamOwner(c *fiber.Ctx, principal access.Principal) string {
	if principal.ID() == anonymous {
		return "address " + web.ClientIP(c)
	}
	return principal.ProjectID() + " " + principal.ID()
}
