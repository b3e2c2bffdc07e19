// Package connections serves the pages on which users connect their own accounts
// to servers.
package connections

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/connections"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/secrets"
	"mcpgateway/views/layout"
	views "mcpgateway/views/me"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Store manages the connections of users. Implemented by connections.Store.
type Store interface {
	Mine(ctx context.Context, userID string) ([]connections.Mine, error)
	MyServer(ctx context.Context, userID, serverID string) (connections.Mine, error)
	Start(ctx context.Context, userID, sessionID, serverID string, inventory bool) (authorizeURL string, err error)
	StoreToken(ctx context.Context, userID, serverID string, t oauthclient.PersonalToken) error
	Disconnect(ctx context.Context, userID, serverID string) (revoked bool, err error)
}

// Tickets opens the tickets of links. Implemented by connections.Tickets.
type Tickets interface {
	Open(text string) (connections.Ticket, error)
}

// Options are the dependencies of Connections.
type Options struct {
	Pages   *frame.Pages
	Store   Store
	Tickets Tickets
	Seal    *secrets.KeyRing // encrypts the address of an authorization for the page that leads there
	Now     func() time.Time
}

// Connections serves the pages. They require a guard that admits sessions only.
type Connections struct{ Options }

// New returns the handlers.
func New(o Options) *Connections { return &Connections{o} }

// List serves GET /me/connections.
func (a *Connections) List(c *fiber.Ctx) error {
	all, err := a.Store.Mine(c.UserContext(), guard.UserOf(c).ID)
	if err != nil {
		return err
	}
	p := views.ConnectionsProps{Frame: a.Pages.Frame(c, "My connections", layout.SectionMyConnections), Now: a.Now()}
	for _, mine := range all {
		p.Rows = append(p.Rows, connectionOf(mine))
	}
	return web.Render(c, views.Connections(p))
}

func connectionOf(m connections.Mine) views.Connection {
	name := ui.Clean(m.Project.Name)
	if name == "" {
		name = m.Project.Slug
	}
	return views.Connection{
		ServerID: m.Server.ID, Alias: ui.Clean(m.Server.Alias), Project: name, Host: ui.Clean(m.Host()), Connected: m.Connected(),
		Again: m.Rejected(), Exists: m.Exists(), Usable: m.Usable, ConnectedAt: m.Status.ConnectedAt, UsedAt: m.Status.UsedAt,
	}
}

// Show serves GET /me/connections/:serverId?t=. It returns FORBIDDEN for a link
// that was made for another user.
func (a *Connections) Show(c *fiber.Ctx) error {
	ticket, err := a.ticket(c, c.Query("t"))
	if err != nil {
		return err
	}
	return a.page(c, ticket, nil)
}

// ticket returns the text of a valid ticket of the signed-in user for the server
// of the request, or "". It returns FORBIDDEN for another user's.
func (a *Connections) ticket(c *fiber.Ctx, text string) (string, error) {
	ticket, err := a.Tickets.Open(text)
	switch {
	case err != nil:
		return "", nil //nolint:nilerr // without a valid ticket it is the user's own page
	case ticket.UserID != guard.UserOf(c).ID:
		return "", fault.Forbidden("This link was made for somebody else.") // language:ignore
	case ticket.ServerID != c.Params("serverId"):
		return "", nil
	}
	return text, nil
}

// page renders the page of a server. failed is the error of a rejected token, or
// nil.
func (a *Connections) page(c *fiber.Ctx, ticket string, failed error) error {
	problems, err := frame.Fields(c, failed)
	if err != nil {
		return err
	}
	mine, err := a.Store.MyServer(c.UserContext(), guard.UserOf(c).ID, c.Params("serverId"))
	if err != nil {
		return err
	}
	p := views.ConnectionProps{
		Connection: connectionOf(mine), Now: a.Now(), Ticket: ticket, SignsIn: mine.SignsIn(), Bearer: mine.Server.AuthType == models.UpstreamAuthBearer,
		Headers: mine.Server.PersonalHeaders, Inventory: mine.Status.Inventory || !mine.Exists(), Errors: problems,
	}
	if !p.Connected && mine.Status.ErrorText != "" {
		p.Problem = mine.Status.ErrorText
	}
	if failed != nil {
		p.Inventory = web.FormValue(c, "inventory") != ""
	}
	p.Frame = a.Pages.Frame(c, p.Alias, layout.SectionMyConnections)
	p.Crumbs = []layout.Crumb{{Label: "My connections", URL: paths.MyConnections}, {Label: p.Alias}}
	return web.Render(c, views.ConnectionPage(p))
}

// SaveToken serves POST /me/connections/:serverId. It stores what the user
// entered.
func (a *Connections) SaveToken(c *fiber.Ctx) error {
	ticket, err := a.ticket(c, web.FormValue(c, "t"))
	if err != nil {
		return err
	}
	user, id := guard.UserOf(c), c.Params("serverId")
	mine, err := a.Store.MyServer(c.UserContext(), user.ID, id)
	if err != nil {
		return err
	}
	entered := oauthclient.PersonalToken{Bearer: frame.FormSecret(c, "bearer"), Headers: map[string]secrets.Value{}, Inventory: web.FormValue(c, "inventory") != ""}
	for _, name := range mine.Server.PersonalHeaders {
		entered.Headers[name] = frame.FormSecret(c, "headers."+name)
	}
	if err := a.Store.StoreToken(c.UserContext(), user.ID, id, entered); err != nil {
		return a.page(c, ticket, err)
	}
	if mine.SignsIn() {
		return frame.Done(c, back(id, ticket), "Saved. Now connect your account.")
	}
	return frame.Done(c, back(id, ticket), "Connected. If an app asked for it, go back to the app.")
}

// back returns the page of a server with the ticket of the user's link.
func back(serverID, ticket string) string {
	if ticket == "" {
		return paths.MyConnection(serverID)
	}
	return paths.MyConnection(serverID) + "?t=" + ticket
}

// Disconnect serves POST /me/connections/:serverId/disconnect.
func (a *Connections) Disconnect(c *fiber.Ctx) error {
	user, id := guard.UserOf(c), c.Params("serverId")
	mine, err := a.Store.MyServer(c.UserContext(), user.ID, id)
	if err != nil {
		return err
	}
	revoked, err := a.Store.Disconnect(c.UserContext(), user.ID, id)
	if err != nil {
		return failed(c, paths.MyConnections, err)
	}
	to := paths.MyConnection(id)
	if !mine.Usable {
		to = paths.MyConnections // the page of the server is gone
	}
	return frame.Done(c, to, Disconnected(mine, revoked))
}

// Disconnected describes the end of a connection.
func Disconnected(mine connections.Mine, revoked bool) string {
	switch {
	case revoked:
		return "Disconnected. Your token is revoked."
	case mine.Status.Kind == models.KindToken:
		return "Disconnected. The gateway deleted your token. Delete it at " + ui.Clean(mine.Host()) + " too if you no longer need it."
	}
	return "Disconnected. The provider didn't confirm the revocation; remove the access there too."
}

// failed redirects to a page that shows an error which the user can fix.
func failed(c *fiber.Ctx, to string, err error) error {
	f := *fault.From(err)
	f.Detail = "" // for administrators
	if f.Code == fault.CodeConnectionRequired {
		f.Message = "Couldn't connect."
	}
	return frame.Failed(c, to, &f)
}
