package api

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/oauthclient"
)

// Connector manages the OAuth connections of servers.
type Connector interface {
	Status(ctx context.Context, serverID string) (oauthclient.Status, error)
	Disconnect(ctx context.Context, serverID, userID string) (revoked bool, err error)
}

// Connections serves /api/servers/:id/connection.
type Connections struct {
	connections Connector
	start       func(serverID string) string
}

// NewConnections returns the handlers. start returns the path where a signed-in
// administrator starts an authorization.
func NewConnections(connections Connector, publicURL *url.URL, start func(serverID string) string) *Connections {
	return &Connections{connections: connections, start: func(id string) string { return publicURL.JoinPath(start(id)).String() }}
}

// Create returns the URL where an administrator authorizes the gateway in a
// browser. It changes nothing. It returns 409 for a server that doesn't use
// OAuth.
func (a *Connections) Create(c *fiber.Ctx) error {
	status, err := a.connections.Status(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"authorizeUrl": a.start(status.ServerID)})
}

// Delete revokes and deletes the tokens of the server.
func (a *Connections) Delete(c *fiber.Ctx) error {
	if _, err := a.connections.Disconnect(c.UserContext(), c.Params("id"), ""); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
