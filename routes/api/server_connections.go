package api

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/connections"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/projects"
	"mcpgateway/services/rawjson"
	"mcpgateway/web"
)

// ServerConnections serves the connections of users to a server.
type ServerConnections struct {
	store    *projects.Store
	accounts OwnAccounts
}

// NewServerConnections returns the handlers.
func NewServerConnections(store *projects.Store, accounts OwnAccounts) *ServerConnections {
	return &ServerConnections{store: store, accounts: accounts}
}

type serverConnectionRecord struct {
	PersonID    string                `json:"personId"`
	Name        string                `json:"name"` // of the person; for administrators the email address if there is none
	Kind        models.ConnectionKind `json:"kind"`
	State       oauthclient.State     `json:"state"`
	Inventory   bool                  `json:"inventory"` // the person allows that it reads the list of tools
	Chosen      bool                  `json:"chosen"`    // to read the list of tools
	ConnectedAt *time.Time            `json:"connectedAt"`
	UsedAt      *time.Time            `json:"usedAt"`
}

func serverConnectionOf(ctx context.Context, server *models.Server) func(t connections.Theirs) serverConnectionRecord {
	mine := reach.Of(ctx)
	return func(t connections.Theirs) serverConnectionRecord {
		return serverConnectionRecord{
			PersonID: t.UserID, Name: mine.Call(t.UserID, t.Name, cmp.Or(t.Name, t.Label())), Kind: t.Status.Kind, State: t.Status.State, Inventory: t.Status.Inventory,
			Chosen: t.UserID == server.InventoryUserID, ConnectedAt: t.Status.ConnectedAt, UsedAt: t.Status.UsedAt,
		}
	}
}

// List serves GET /api/servers/:id/connections. It is empty for a server with a
// shared account.
func (a *ServerConnections) List(c *fiber.Ctx) error {
	server, err := a.store.Server(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	all, err := a.accounts.Of(c.UserContext(), server.ID)
	if err != nil {
		return err
	}
	return RespondList(c, all, serverConnectionOf(c.UserContext(), &server))
}

// Delete serves DELETE /api/servers/:id/connections/:personId.
func (a *ServerConnections) Delete(c *fiber.Ctx) error {
	server, err := a.store.Server(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	if _, err := a.accounts.Remove(c.UserContext(), server.ID, c.Params("personId")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// PutInventory serves PUT /api/servers/:id/inventory-connection {personId}. null
// removes the choice.
func (a *ServerConnections) PutInventory(c *fiber.Ctx) error {
	var body struct {
		PersonID json.RawMessage `json:"personId"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	id, isText := rawjson.String(body.PersonID)
	if id == "" && (isText || rawjson.Kind(body.PersonID) != 'n') {
		return fault.Validation(map[string]string{"personId": "use the id of a person, or null for no choice"})
	}
	if err := a.store.SetInventoryUser(c.UserContext(), c.Params("id"), id); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
