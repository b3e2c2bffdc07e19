package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/connections"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/secrets"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// OwnAccounts manages users' own accounts at servers. Implemented by
// connections.Store.
type OwnAccounts interface {
	Mine(ctx context.Context, userID string) ([]connections.Mine, error)
	Start(ctx context.Context, userID, sessionID, serverID string, inventory bool) (authorizeURL string, err error)
	StoreToken(ctx context.Context, userID, serverID string, t oauthclient.PersonalToken) error
	MyServer(ctx context.Context, userID, serverID string) (connections.Mine, error)
	Disconnect(ctx context.Context, userID, serverID string) (revoked bool, err error)
	Of(ctx context.Context, serverID string) ([]connections.Theirs, error)
	Remove(ctx context.Context, serverID, userID string) (revoked bool, err error)
}

// MyConnections serves /api/me/connections. It requires a guard that admits
// sessions only.
type MyConnections struct{ accounts OwnAccounts }

// NewMyConnections returns the handlers.
func NewMyConnections(accounts OwnAccounts) *MyConnections { return &MyConnections{accounts} }

type ownConnectionRecord struct {
	ServerID    string                 `json:"serverId"`
	Alias       string                 `json:"alias"`
	ProjectSlug string                 `json:"projectSlug"`
	Host        string                 `json:"host"`
	Kind        *models.ConnectionKind `json:"kind"` // null if the user never connected
	State       oauthclient.State      `json:"state"`
	Inventory   bool                   `json:"inventory"`
	ConnectedAt *time.Time             `json:"connectedAt"`
	UsedAt      *time.Time             `json:"usedAt"`
}

func ownConnectionOf(m connections.Mine) ownConnectionRecord {
	r := ownConnectionRecord{ServerID: m.Server.ID, Alias: m.Server.Alias, ProjectSlug: m.Project.Slug, Host: m.Host(), State: m.Status.State}
	if m.Exists() {
		r.Kind, r.Inventory, r.ConnectedAt, r.UsedAt = &m.Status.Kind, m.Status.Inventory, m.Status.ConnectedAt, m.Status.UsedAt
	}
	return r
}

// List serves GET /api/me/connections.
func (a *MyConnections) List(c *fiber.Ctx) error {
	all, err := a.accounts.Mine(c.UserContext(), guard.UserOf(c).ID)
	if err != nil {
		return err
	}
	return RespondList(c, all, ownConnectionOf)
}

// Put serves PUT /api/me/connections/:serverId {bearer, headers, inventory}.
func (a *MyConnections) Put(c *fiber.Ctx) error {
	var body struct {
		Bearer    string            `json:"bearer"`
		Headers   map[string]string `json:"headers"`
		Inventory *bool             `json:"inventory"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	entered := oauthclient.PersonalToken{Bearer: secrets.NewValue(body.Bearer), Headers: map[string]secrets.Value{}, Inventory: body.Inventory == nil || *body.Inventory}
	for name, value := range body.Headers {
		entered.Headers[name] = secrets.NewValue(value)
	}
	user, id := guard.UserOf(c), c.Params("serverId")
	if err := a.accounts.StoreToken(c.UserContext(), user.ID, id, entered); err != nil {
		return err
	}
	mine, err := a.accounts.MyServer(c.UserContext(), user.ID, id)
	if err != nil {
		return err
	}
	return c.JSON(ownConnectionOf(mine))
}

// Start serves POST /api/me/connections/:serverId/start {inventory}. The
// authorization must finish in the browser session that started it.
func (a *MyConnections) Start(c *fiber.Ctx) error {
	var body struct {
		Inventory *bool `json:"inventory"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	user := guard.UserOf(c)
	to, err := a.accounts.Start(c.UserContext(), user.ID, user.SessionID, c.Params("serverId"), body.Inventory == nil || *body.Inventory)
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"authorizeUrl": to})
}

// Delete serves DELETE /api/me/connections/:serverId.
func (a *MyConnections) Delete(c *fiber.Ctx) error {
	if _, err := a.accounts.Disconnect(c.UserContext(), guard.UserOf(c).ID, c.Params("serverId")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
