// Package mcp serves the project endpoints: /v1/mcp/:projectSlug/*.
package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/mcp/cors"
	"mcpgateway/routes/mcp/resume"
	"mcpgateway/routes/mcp/session"
	"mcpgateway/services/access"
	"mcpgateway/services/access/quotas"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/membudget"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/views"
	"mcpgateway/services/upstream"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/ratelimit"
	"mcpgateway/web/sse"
)

// Views returns the endpoints of projects and their toolsets, and what a caller
// sees there. Implemented by views.Views.
type Views interface {
	Endpoint(projectSlug, toolsetSlug string) (*views.Endpoint, error)
	Of(at *views.Endpoint, caller access.Principal) (*toolset.Snapshot, error)
}

// Authenticator authenticates the callers of a project, or of its toolset.
type Authenticator interface {
	Authenticate(ctx context.Context, project *models.Project, toolsetID, authorization string) (access.Principal, error)
}

// Limiter limits the rate of tool calls. Allow returns a fault if the principal
// may not make that many calls now.
type Limiter interface {
	Allow(project *models.Project, principal access.Principal, calls int) error
}

// Handler handles one request. Implemented by gateway.Gateway.
type Handler interface {
	Handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, method string, params []byte, trace *gateway.RequestInfo) ([]byte, error)
	// ExplainError returns the error for a request to a server, which can be nil,
	// that was not handled by Handle.
	ExplainError(client *gateway.Client, server *toolset.Server, method string, err error) error
	// ListenTasks delivers the states of a client's tasks until ctx is cancelled. It
	// returns the handles of those that can be watched.
	ListenTasks(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, handles []string, deliver func(method string, params []byte)) ([]string, error)
}

// Subscriptions call deliver with the notifications for clients, until the
// returned function is called. deliver must not block. Implemented by
// subscriptions.Subscriptions.
type Subscriptions interface {
	// Subscribe delivers the notifications of the lists that a caller sees. It
	// calls end once the caller is no longer admitted.
	Subscribe(caller access.Principal, deliver func(subscriptions.Notification), end func()) (cancel func())
	// SubscribeResources delivers the updates of resources. It returns the
	// resources that can be watched.
	SubscribeResources(ctx context.Context, project *toolset.Snapshot, caller access.Principal, uris []string, deliver func(subscriptions.Notification)) (agreed []string, cancel func())
	// Attach delivers the updates of a session's resources.
	Attach(client *gateway.Client, deliver func(subscriptions.Notification)) (detach func())
	// Handle handles resources/subscribe and resources/unsubscribe of a session.
	Handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, method string, params []byte, trace *gateway.RequestInfo) ([]byte, error)
	// End deletes the subscriptions of a session.
	End(sessionID string)
}

// Options configure an Endpoint. All fields are required unless noted.
type Options struct {
	Views         Views
	Auth          Authenticator
	Gateway       Handler
	Sessions      *session.Sessions
	Levels        LogLevels
	Names         *web.HostPolicy
	Failures      *ratelimit.FailureLimit // of wrong keys; beyond it a 401 has a Retry-After
	WrongKeys     *ratelimit.AddressLimit // of wrong keys; beyond it an address receives 429
	Limits        Limiter
	Subscriptions Subscriptions
	Resume        *resume.Streams   // the streams that clients can resume
	Results       *membudget.Budget // memory of large results; nil is unlimited
	MaxStreams    int               // maximum number of open streams of all clients
	PublicURL     string            // origin of the gateway, for challenges
	Instance      string            // identifies this gateway in Gateway-Hops

	Hold      time.Duration // time until the response of a running call becomes a stream; 0 is 15 s
	KeepAlive time.Duration // time between comments on an idle stream; 0 is 15 s
}

// Endpoint serves the endpoints of every project.
type Endpoint struct {
	Options
	slots  *ratelimit.StreamLimit
	live   *liveSessions
	posted *postedSessions
}

// NewEndpoint returns an Endpoint.
func NewEndpoint(o Options) *Endpoint {
	if o.Hold == 0 {
		o.Hold = streamDelay
	}
	return &Endpoint{Options: o, slots: ratelimit.NewStreamLimit(o.MaxStreams), live: newLiveSessions(), posted: newPostedSessions()}
}

// OpenStreams returns the number of open client streams.
func (e *Endpoint) OpenStreams() int { return e.slots.Open() }

// Methods of the endpoints, for Allow headers.
const (
	requestMethods = "POST, GET, DELETE"
	sseMethods     = "GET, POST"
)

// Request serves /v1/mcp/:projectSlug/request (specification, "JSON-RPC
// endpoint") for plain JSON clients and all versions of Streamable HTTP. The
// order of the checks is part of the contract.
func (e *Endpoint) Request(c *fiber.Ctx) error {
	at, err := e.locate(c)
	if err != nil {
		return err
	}
	if c.Method() == fiber.MethodOptions {
		return cors.Preflight(c, requestMethods)
	}
	in, err := e.admit(c, at)
	if err != nil {
		return err
	}
	switch c.Method() {
	case fiber.MethodPost:
		return e.post(c, in)
	case fiber.MethodGet:
		return e.listenForSession(c, in)
	case fiber.MethodDelete:
		return e.endSession(c, in)
	default:
		return notAllowed(c, requestMethods, "Send JSON-RPC requests with POST.")
	}
}

// admitted is a caller at an endpoint.
type admitted struct {
	at        *views.Endpoint
	principal access.Principal
	view      *toolset.Snapshot // what the caller sees; everything else doesn't exist
}

// locate returns the endpoint after the checks that need no credentials. A path
// with a trailing slash, which Fiber's routes match too, is not found
// (specification).
func (e *Endpoint) locate(c *fiber.Ctx) (*views.Endpoint, error) {
	if strings.HasSuffix(c.Path(), "/") {
		return nil, fiber.ErrNotFound
	}
	slug := c.Params("projectSlug")
	at, err := e.Views.Endpoint(slug, c.Params("toolset"))
	if err != nil {
		return nil, err
	}
	web.EventOf(c).Project = slug
	if err := e.Names.CheckHost(c); err != nil {
		return nil, err
	}
	if err := e.Names.CheckOrigin(c); err != nil {
		return nil, err
	}
	cors.AllowOrigin(c)
	if hops := hopsOf(c); hops != "" {
		if err := upstream.CheckHops(e.Instance, upstream.Hops(hops)); err != nil {
			c.Set(upstream.HeaderHops, e.Instance)
			return nil, err
		}
	}
	return at, nil
}

// hopsOf returns the gateways that a request has passed, usually "". Repeated
// headers are one list (RFC 9110, section 5.2).
func hopsOf(c *fiber.Ctx) string {
	if c.Get(upstream.HeaderHops) == "" {
		return ""
	}
	return string(bytes.Join(c.Request().Header.PeekAll(upstream.HeaderHops), []byte(", ")))
}

func notAllowed(c *fiber.Ctx, methods, format string, args ...any) error {
	c.Set(fiber.HeaderAllow, methods)
	return fault.New(fault.KindMethodNotAllowed, fault.CodeMethodNotAllowed, format, args...)
}

// post handles a POST.
func (e *Endpoint) post(c *fiber.Ctx, in *admitted) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	messages, batch, problem := parseBody(body)
	if problem != nil {
		return problem.answer(c)
	}
	client, problem, err := e.client(c, in, messages, batch)
	if err != nil {
		return err
	}
	if problem != nil {
		return problem.answer(c)
	}
	if err := e.permit(c, in, messages); err != nil {
		return err
	}
	project := in.view
	if err := e.allow(project, client, messages); err != nil {
		return err
	}
	e.handleControl(client, messages)
	if batch {
		return e.respondBatch(c, project, client, messages)
	}
	m := messages[0]
	if m.err != nil {
		return m.err.answer(c)
	}
	if !m.isRequest() {
		return accepted(c)
	}
	web.EventOf(c).Method = m.method
	switch {
	case m.method == "initialize" && !client.Stateless():
		return e.initialize(c, project, client, m)
	case m.method == "subscriptions/listen" && client.Stateless():
		return e.listen(c, in, client, m)
	}
	named, only := sse.AcceptsEventStream(c.Get(fiber.HeaderAccept))
	if named && streams(m.method) && c.Request().Header.IsHTTP11() {
		return e.respondLazily(c, project, client, m, only)
	}
	return e.respondJSON(c, project, client, m)
}

// streams reports whether a method can take long or send messages before its
// response. Other methods are handled in memory.
func streams(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", "logging/setLevel", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "skills/list":
		return false
	default:
		return true
	}
}

// respondJSON responds to a request with one JSON object.
func (e *Endpoint) respondJSON(c *fiber.Ctx, project *toolset.Snapshot, client *gateway.Client, m *message) error {
	ctx := c.UserContext()
	switch {
	case !streams(m.method):
	case client.Stateless():
		// A stateless client cancels by disconnecting (MCP 2026-07-28, "Cancellation").
		cancellable, cancel := context.WithCancel(ctx)
		defer cancel()
		defer conn.WatchDisconnect(c, cancel)()
		ctx = cancellable
	case client.SessionID != "":
		cancellable, cancel := context.WithCancel(ctx)
		defer cancel()
		defer e.running(client, m, cancel)()
		ctx = cancellable
	}
	event := web.EventOf(c)
	lease := e.Results.NewLease()
	client.Memory = lease
	var trace gateway.RequestInfo
	result, err := e.handle(ctx, project, client, m, &trace)
	event.Tool, event.Upstream = trace.Tool, trace.Server
	return sendResponse(c, client, m, result, err, lease.Release)
}

// sendResponse sends the result or the error of a request. It calls sent after the
// response was sent or failed to be sent. A call beyond a limit of its project is
// returned as a fault.
func sendResponse(c *fiber.Ctx, client *gateway.Client, m *message, result []byte, err error, sent func()) error {
	if err == nil && len(result) >= sentInParts {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return web.SendPartsThen(c, sent, appendResultHead(nil, m.id), result, []byte{'}'})
	}
	if quotas.Refused(err) { // like a request beyond the project's rate
		sent()
		return err
	}
	if err != nil {
		web.EventOf(c).Fault(err)
		return newErrorResponse(err, client, m.id).sendThen(c, sent)
	}
	sent()
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(appendResult(nil, m.id, result))
}

// sentInParts is the minimum size in bytes of results that are sent without
// being copied into the response.
const sentInParts = 64 << 10

// running registers a request for notifications/cancelled until done is called.
func (e *Endpoint) running(client *gateway.Client, m *message, cancel context.CancelFunc) (done func()) {
	session := e.live.enter(client.SessionID)
	call := &runningCall{id: m.id, cancel: cancel}
	session.begin(call)
	return func() {
		session.done(call)
		session.leave()
	}
}

// initialize responds to a handshake and creates the session.
func (e *Endpoint) initialize(c *fiber.Ctx, project *toolset.Snapshot, client *gateway.Client, m *message) error {
	result, err := e.handle(c.UserContext(), project, client, m, nil)
	if err != nil {
		return sendResponse(c, client, m, nil, err, func() {})
	}
	id, err := e.Sessions.Mint(project.Project.ID, client.Principal, gateway.NegotiatedVersion(m.params), declaredCapabilities(m.params))
	if err != nil {
		return err
	}
	c.Set(HeaderSession, id)
	return sendResponse(c, client, m, result, nil, func() {})
}

// accepted responds with 202 and no body, for messages without a response.
func accepted(c *fiber.Ctx) error {
	c.Status(fiber.StatusAccepted)
	return nil
}

// handle handles one request. A panic becomes an INTERNAL fault, so that it
// doesn't end the process or other requests of a batch. If the request fails
// because its context was cancelled, it returns CANCELLED: a POST needs a
// response, and the cancellation is not an internal error.
func (e *Endpoint) handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, m *message, trace *gateway.RequestInfo) (result []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.Internal(fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
			return
		}
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = fault.Cancelled(err)
		}
	}()
	switch {
	case client.Stateless():
	case m.method == "logging/setLevel":
		return e.setLevel(ctx, client, m.params)
	case m.method == "resources/subscribe", m.method == "resources/unsubscribe":
		if result, err = e.Subscriptions.Handle(ctx, project, client, m.method, m.params, trace); err != nil {
			err = e.Gateway.ExplainError(client, project.Server(trace.Server), m.method, err)
		}
		return result, err
	}
	return e.Gateway.Handle(ctx, project, client, m.method, m.params, trace)
}

// handleControl handles messages for requests in flight: responses to requests of the
// gateway, and cancellations.
func (e *Endpoint) handleControl(client *gateway.Client, messages []*message) {
	if client.SessionID == "" {
		return
	}
	for _, m := range messages {
		switch {
		case m.isResponse():
			e.live.find(client.SessionID).deliverResponse(m)
		case m.method == "notifications/cancelled":
			e.live.find(client.SessionID).cancel(cancelledID(m.params))
		}
	}
}

// allow returns the fault of the limiter for the tool calls in messages, or nil.
func (e *Endpoint) allow(project *toolset.Snapshot, client *gateway.Client, messages []*message) error {
	calls := 0
	for _, m := range messages {
		if m.isRequest() && m.method == methodCall {
			calls++
		}
	}
	if calls == 0 {
		return nil
	}
	return e.Limits.Allow(&project.Project, client.Principal, calls)
}
