package mcp

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/mcp/session"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/sse"
)

// openSession returns the session of a GET or DELETE request. It returns
// METHOD_NOT_ALLOWED without a session id or for a stateless client, and
// NOT_FOUND for an invalid or ended session.
func (e *Endpoint) openSession(c *fiber.Ctx, in *admitted) (*session.Session, error) {
	id := c.Get(HeaderSession)
	if id == "" || c.Get(headerVersion) >= gateway.VersionStateless {
		return nil, notAllowed(c, requestMethods, "%s requires a session. Send its Mcp-Session-Id, or use POST.", c.Method())
	}
	return e.Sessions.Open(id, in.principal.ProjectID(), in.principal)
}

// listenForSession responds to a GET with the stream of its session, for
// notifications of changed lists and resources (MCP 2025-11-25, "Listening for
// Messages from the Server"). A session has one stream. A new one replaces it.
func (e *Endpoint) listenForSession(c *fiber.Ctx, in *admitted) error {
	if named, _ := sse.AcceptsEventStream(c.Get(fiber.HeaderAccept)); !named {
		return notAllowed(c, requestMethods, "GET returns an event stream. Send Accept: text/event-stream, or use POST.")
	}
	session, err := e.openSession(c, in)
	if err != nil {
		return err
	}
	if last := c.Get(sse.HeaderLastEventID); last != "" && versionOf(c, session) == gateway.VersionLatestHandshake {
		return e.resumeStream(c, in, session, last)
	}
	web.EventOf(c).Method = "stream"
	live := e.live.enter(session.Key())
	if last := live.current(); last != nil {
		last.free() // so that a client at the limit can replace its stream
	}
	free, err := e.slots.Take(streamOwner(c, in.principal))
	if err != nil {
		live.leave()
		return err
	}
	stream := &sessionStream{free: free}
	unsubscribe, unwatch := func() {}, func() {}
	admitted := e.stillAdmitted(c, in)
	stream.Stream = sse.NewStream(c, sse.StreamOptions{
		KeepAlive: e.KeepAlive,
		Alive:     func() bool { return e.Sessions.Lives(session) && admitted() },
		Stop:      func() {}, // there is no final message
		Closed: func() {
			unsubscribe()
			unwatch()
			free()
			live.dropStream(stream)
			live.leave()
		},
	})
	if last := live.swap(stream); last != nil {
		last.End()
	}
	if !e.Sessions.Lives(session) { // ended concurrently
		stream.End()
	}
	stream.Comment()
	unsubscribe = e.subscribe(&gateway.Client{
		Principal: in.principal, SessionID: session.Key(), Version: session.Version, Capabilities: session.Capabilities,
	}, stream.Stream)
	unwatch = conn.WatchDisconnect(c, stream.Break)
	return stream.Respond(c)
}

// subscribe sends the notifications of a session on its stream until cancel is
// called: those of changed lists and of subscribed resources.
func (e *Endpoint) subscribe(client *gateway.Client, stream *sse.Stream) (cancel func()) {
	deliver := func(n subscriptions.Notification) {
		stream.Send(messageEvent, appendNotification(nil, n.Method, n.Params))
	}
	unsubscribe := e.Subscriptions.Subscribe(client.Principal, deliver, stream.End)
	detach := e.Subscriptions.Attach(client, deliver)
	return func() {
		unsubscribe()
		detach()
	}
}

// stillAdmitted returns a function that reports whether the caller of the
// request is still allowed. Its key may be revoked while its stream is open.
func (e *Endpoint) stillAdmitted(c *fiber.Ctx, in *admitted) func() bool {
	ctx, authorization := c.UserContext(), c.Get(fiber.HeaderAuthorization)
	projectSlug, toolsetSlug := in.at.Project().Slug, strings.Clone(c.Params("toolset"))
	return func() bool {
		at, err := e.Views.Endpoint(projectSlug, toolsetSlug)
		if err != nil {
			return false
		}
		again, err := e.Auth.Authenticate(ctx, at.Project(), at.ToolsetID(), authorization)
		if err != nil || again.Caller() != in.principal.Caller() || again.ProjectID() != in.principal.ProjectID() {
			return false
		}
		_, err = e.Views.Of(at, again)
		return err == nil
	}
}

// endSession responds to a DELETE by ending the session in every process.
func (e *Endpoint) endSession(c *fiber.Ctx, in *admitted) error {
	session, err := e.openSession(c, in)
	if err != nil {
		return err
	}
	if err := e.Sessions.End(c.UserContext(), session); err != nil {
		return err
	}
	e.live.find(session.Key()).end()
	_ = e.Levels.Forget(c.UserContext(), session.Key()) // on an error the row remains until it expires
	e.Resume.End(c.UserContext(), session.Key())
	e.Subscriptions.End(session.Key())
	c.Status(fiber.StatusNoContent)
	return nil
}
