package api

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/oauthclient"
)

// Connector knows the OAuth connections of servers.
type Connector interface {
	Status(ctx context.Context, serverID string) (oauthclient.Status, error)
	Disconnect(ctx context.Context, serverID string) (revoked bool, err error)
}

// Connections serves /api/servers/:id/connection.
type Connections struct {
	connections Connector
	start       func(serverID string) string
}

// NewConnections returns the handlers. start returns the path under which a
// signed-in administrator begins an authorization.
func NewConnections(connections Connector, publicURL *url.URL, start func(serverID string) string) *Connections {
	return &Connections{connections: connections, start: func(id string) string { return publicURL.JoinPath(start(id)).String() }}
}

// Create answers where an administrator authorizes the gateway with a browser;
// nothing happens before. It answers 409 for a server that does not use OAuth.
func (a *Connections) Create(c *fiber.Ctx) error {
	status, err := a.connections.Status(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"authorizeUrl": a.start(status.ServerID)})
}

// Delete forgets and revokes the tokens of the server.
func (a *Connections) Delete(c *fiber.Ctx) error {
	if _, err := a.connections.Disconnect(c.UserContext(), c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
