package admin

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/views/layout"
	"mcpgateway/web"
)

// connectionsPath is the page that tells of every connection.
const connectionsPath = "/admin/connections"

// StartConnectionPath returns where an administrator begins to authorize the
// gateway at the authorization server of an upstream server.
func StartConnectionPath(serverID string) string {
	return connectionsPath + "/" + url.PathEscape(serverID) + "/start"
}

// Connector begins and ends the OAuth connections of servers.
type Connector interface {
	Start(ctx context.Context, s oauthclient.Start) (authorizeURL string, err error)
	Disconnect(ctx context.Context, serverID string) (revoked bool, err error)
	DropRegistration(ctx context.Context, serverID string) error
}

// Connections serves the buttons of connections and says how they ended, above
// the page of the connection.
type Connections struct{ connections Connector }

// NewConnections returns the handlers.
func NewConnections(connections Connector) *Connections {
	return &Connections{connections: connections}
}

// Start serves GET /admin/connections/:id/start: it sends the browser to the
// authorization server. It is a link, so it changes nothing but what the
// person then agrees to there.
func (a *Connections) Start(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	person := web.PersonOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	to, err := a.connections.Start(c.UserContext(), oauthclient.Start{ServerID: c.Params("id"), SessionID: person.SessionID})
	if err != nil {
		return a.NotConnected(c, c.Params("id"), err)
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Disconnect serves POST /admin/connections/:id/disconnect.
func (a *Connections) Disconnect(c *fiber.Ctx) error {
	revoked, err := a.connections.Disconnect(c.UserContext(), c.Params("id"))
	if err != nil {
		return Failed(c, connectionPath(c.Params("id")), err)
	}
	if !revoked {
		return Done(c, connectionPath(c.Params("id")), "The server is disconnected. Its authorization server did not confirm that the tokens are revoked; withdraw the access there, too.")
	}
	return Done(c, connectionPath(c.Params("id")), "The server is disconnected and its tokens are revoked.")
}

// DropRegistration serves POST /admin/connections/:id/drop-registration, for
// an authorization server that does not know the gateway any more.
func (a *Connections) DropRegistration(c *fiber.Ctx) error {
	if err := a.connections.DropRegistration(c.UserContext(), c.Params("id")); err != nil {
		return Failed(c, connectionPath(c.Params("id")), err)
	}
	return Done(c, connectionPath(c.Params("id")), "The registration is dropped. Connect the server to have the gateway registered anew.")
}

// Connected answers the end of an authorization.
func (a *Connections) Connected(c *fiber.Ctx, serverID string) error {
	return Done(c, connectionPath(serverID), "The server is connected. Its tools are being read.")
}

// NotConnected answers an authorization that could not begin or end. A browser
// that may not finish it is told so on the page where it can begin anew.
func (a *Connections) NotConnected(c *fiber.Ctx, serverID string, err error) error {
	if f := fault.From(err); f.Kind == fault.KindForbidden {
		putFlash(c, layout.Flash{Tone: "bad", Text: f.Message})
		return c.Redirect(connectionsPath, fiber.StatusSeeOther)
	}
	return Failed(c, connectionPath(serverID), err)
}
