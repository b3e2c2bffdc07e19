package mcp

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/mcp/session"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/sse"
)

// resumeStream responds to a GET of a client that lost the stream of a request,
// with the events after lastID (MCP 2025-11-25, "Resumability and Redelivery").
// The stream doesn't replace that of the session. After the last event there is
// nothing to resume.
func (e *Endpoint) resumeStream(c *fiber.Ctx, in *admitted, session *session.Session, lastID string) error {
	at, err := e.Resume.Open(lastID, session.Key())
	if err != nil {
		return err
	}
	if at.IsLast() {
		return notAllowed(c, requestMethods, "This stream has ended, and you received it completely.")
	}
	free, err := e.slots.Take(streamOwner(c, in.principal))
	if err != nil {
		return err
	}
	event := web.EventOf(c)
	event.Method = "resume"
	gone := newErrorResponse(fault.Upstream(fault.CodeUpstreamUnavailable, "The result of this call is no longer available. The call may have taken effect."), &gateway.Client{Version: gateway.VersionLatestHandshake}, at.RequestID())
	admitted := e.stillAdmitted(c, in)
	left, unwatch := func() {}, func() {}
	stream := sse.NewStream(c, sse.StreamOptions{
		KeepAlive: e.KeepAlive,
		Alive:     func() bool { return e.Sessions.Lives(session) && admitted() },
		Stop:      func() {}, // the client resumes elsewhere
		Closed: func() {
			left()
			unwatch()
			free()
		},
	})
	left = e.Resume.Resume(c.UserContext(), stream, session.Key(), at, gone.append(nil, event.Errors()), event.Background)
	unwatch = conn.WatchDisconnect(c, stream.Break)
	return stream.Respond(c)
}

// versionOf returns the protocol version of a request in a session.
func versionOf(c *fiber.Ctx, session *session.Session) string {
	if version := c.Get(headerVersion); version != "" {
		return version
	}
	return session.Version
}

// timeLimit returns the maximum duration of a request: the timeout of its tool's
// server, that of tasks for a tool that can run as one, or the maximum of all
// servers and of code.
func timeLimit(view *toolset.Snapshot, m *message) time.Duration {
	if m.method == methodCall {
		if params, err := rawjson.ParseObject(m.params, rawjson.Lenient); err == nil {
			name, _ := params.String("name")
			if tool, err := view.Resolve(name); err == nil {
				if tool.Tasks != toolset.TasksForbidden {
					return max(tool.Server.Target.CallTimeout(), tool.Server.Target.TaskTime())
				}
				return tool.Server.Target.CallTimeout()
			}
		}
	}
	limit := codemode.MaxTimeout
	for _, server := range view.Servers {
		limit = max(limit, server.Target.CallTimeout())
	}
	return limit
}
