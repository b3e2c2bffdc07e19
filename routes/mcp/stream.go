package mcp

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/mcp/session"
	"mcpgateway/services/access"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/sse"
)

// openSession returns the session that a GET or DELETE names. For one that
// cannot name a session it returns METHOD_NOT_ALLOWED, and NOT_FOUND for a
// session that has ended.
func (e *Endpoint) openSession(c *fiber.Ctx, project *toolset.Snapshot, principal access.Principal) (*session.Session, error) {
	id := c.Get(HeaderSession)
	if id == "" || c.Get(headerVersion) >= gateway.VersionStateless {
		return nil, notAllowed(c, requestMethods, "only a client with a session can %s: send its Mcp-Session-Id, or use POST", c.Method())
	}
	return e.Sessions.Open(id, project.Project.ID, principal)
}

// listenForSession answers a GET with the stream of its session, on which the
// client hears that a list or resource changed (MCP 2025-11-25, "Listening for Messages
// from the Server"). A session has one; the newest replaces the one before.
func (e *Endpoint) listenForSession(c *fiber.Ctx, project *toolset.Snapshot, principal access.Principal) error {
	if named, _ := sse.AcceptsEventStream(c.Get(fiber.HeaderAccept)); !named {
		return notAllowed(c, requestMethods, "a GET gets a stream only: send Accept: text/event-stream, or use POST")
	}
	session, err := e.openSession(c, project, principal)
	if err != nil {
		return err
	}
	web.EventOf(c).Method = "stream"
	live := e.live.enter(session.Key())
	if last := live.current(); last != nil {
		last.free() // so that a client at its limit can still renew its stream
	}
	free, err := e.slots.take(streamOwner(c, principal))
	if err != nil {
		live.leave()
		return err
	}
	stream := &sessionStream{free: free}
	unsubscribe, unwatch := func() {}, func() {}
	admitted := e.stillAdmitted(c, project, principal)
	stream.Stream = sse.NewStream(c, sse.StreamOptions{
		KeepAlive: e.KeepAlive,
		Alive:     func() bool { return e.Sessions.Lives(session) && admitted() },
		Stop:      func() {}, // it has no last words
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
	if !e.Sessions.Lives(session) { // it was ended in this very moment
		stream.End()
	}
	stream.Comment()
	unsubscribe = e.subscribe(project, session.Key(), stream.Stream)
	unwatch = conn.WatchDisconnect(c, stream.Break)
	return stream.Answer(c)
}

// subscribe sends what a session is to hear of on its stream, until cancel is
// called: of every changed list, and of the resources that it subscribed to.
func (e *Endpoint) subscribe(project *toolset.Snapshot, sessionID string, stream *sse.Stream) (cancel func()) {
	deliver := func(n subscriptions.Notification) {
		stream.Send(messageEvent, appendNotification(nil, n.Method, n.Params))
	}
	unsubscribe := e.Subscriptions.Subscribe(project.Project.ID, deliver)
	detach := e.Subscriptions.Attach(sessionID, deliver)
	return func() {
		unsubscribe()
		detach()
	}
}

// stillAdmitted returns a function that reports whether the request's caller
// would still be admitted: its key may be revoked while its stream is open.
func (e *Endpoint) stillAdmitted(c *fiber.Ctx, project *toolset.Snapshot, principal access.Principal) func() bool {
	ctx, slug, authorization := c.UserContext(), project.Project.Slug, c.Get(fiber.HeaderAuthorization)
	return func() bool {
		now, err := e.Projects.Project(slug)
		if err != nil || now.Project.ID != project.Project.ID {
			return false
		}
		again, err := e.Auth.Authenticate(ctx, &now.Project, authorization)
		return err == nil && again.Known() && again.ID() == principal.ID()
	}
}

// endSession answers a DELETE: no process accepts the session any more.
func (e *Endpoint) endSession(c *fiber.Ctx, project *toolset.Snapshot, principal access.Principal) error {
	session, err := e.openSession(c, project, principal)
	if err != nil {
		return err
	}
	if err := e.Sessions.End(c.UserContext(), session); err != nil {
		return err
	}
	e.live.find(session.Key()).end()
	_ = e.Levels.Forget(c.UserContext(), session.Key()) // otherwise the row expires
	e.Subscriptions.End(session.Key())
	c.Status(fiber.StatusNoContent)
	return nil
}
