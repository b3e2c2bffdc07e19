// Package connections serves the OAuth connections of servers: their pages, and
// the forms that start and remove them.
package connections

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
)

// Connector starts and removes the OAuth connections of servers. Implemented by
// oauthclient.Connections.
type Connector interface {
	Start(ctx context.Context, s oauthclient.Start) (authorizeURL string, err error)
	Disconnect(ctx context.Context, serverID, userID string) (revoked bool, err error)
	DropRegistration(ctx context.Context, serverID string) error
	Status(ctx context.Context, serverID string) (oauthclient.Status, error)
}

// Connections serves the buttons of connections. Results are shown on the page of
// the connection.
type Connections struct {
	pages       *frame.Pages
	connections Connector
}

// New returns the handlers.
func New(pages *frame.Pages, connections Connector) *Connections {
	return &Connections{pages: pages, connections: connections}
}

// Start serves GET /admin/connections/:id/start. It redirects the browser to the
// authorization server. Other sites and programs can open this URL, so a request
// that does not come from an admin page gets a confirmation page first.
func (a *Connections) Start(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	if !fromAdministration(c) && !isStartToken(c.Query("token"), person, c.Params("id")) {
		compress.Never(c) // the token is constant, so compression could leak it
		return web.Render(c, admin.ConnectionStart(admin.ConnectionStartProps{
			Frame:    a.pages.Frame(c, "Connect a server", layout.SectionConnections),
			StartURL: paths.StartConnection(c.Params("id")) + "?token=" + startToken(person, c.Params("id")), CancelURL: paths.Connections,
		}))
	}
	to, err := a.connections.Start(c.UserContext(), oauthclient.Start{ServerID: c.Params("id"), SessionID: person.SessionID})
	if err != nil {
		return a.NotConnected(c, c.Params("id"), err)
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// fromAdministration reports whether the request headers name an admin page as
// the origin. The sign-in page does not count, because another site's link can
// lead to it.
func fromAdministration(c *fiber.Ctx) bool {
	if c.Get("Sec-Fetch-Site") != "same-origin" {
		return false
	}
	referrer, err := url.Parse(c.Get(fiber.HeaderReferer))
	return err == nil && strings.HasPrefix(referrer.Path, paths.Home)
}

// startToken returns the token of the confirmation button. It is bound to the
// session and the server and does not reveal the CSRF token.
func startToken(person *guard.User, serverID string) string {
	mac := hmac.New(sha256.New, []byte(person.CSRF))
	mac.Write([]byte("start connection " + serverID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func isStartToken(given string, person *guard.User, serverID string) bool {
	return person.CSRF != "" && hmac.Equal([]byte(given), []byte(startToken(person, serverID)))
}

// Disconnect serves POST /admin/connections/:id/disconnect.
func (a *Connections) Disconnect(c *fiber.Ctx) error {
	provider := a.provider(c.UserContext(), c.Params("id")) // unknown once it is disconnected
	revoked, err := a.connections.Disconnect(c.UserContext(), c.Params("id"), "")
	if err != nil {
		return frame.Failed(c, paths.Connection(c.Params("id")), err)
	}
	if !revoked {
		return frame.Done(c, paths.Connection(c.Params("id")), "Disconnected. "+provider+" didn't confirm the revocation; remove the access there too.")
	}
	return frame.Done(c, paths.Connection(c.Params("id")), "Disconnected. Its tokens are revoked.")
}

// provider returns the host of a connection's authorization server.
func (a *Connections) provider(ctx context.Context, serverID string) string {
	status, err := a.connections.Status(ctx, serverID)
	if err != nil {
		return "The provider"
	}
	issuer, err := url.Parse(status.Issuer)
	if err != nil || issuer.Hostname() == "" {
		return "The provider"
	}
	return issuer.Hostname()
}

// DropRegistration serves POST /admin/connections/:id/drop-registration, for an
// authorization server that no longer has the gateway's client.
func (a *Connections) DropRegistration(c *fiber.Ctx) error {
	if err := a.connections.DropRegistration(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, paths.Connection(c.Params("id")), err)
	}
	return frame.Done(c, paths.Connection(c.Params("id")), "Registration removed. Connect to register again.")
}

// Connected responds to a successful authorization.
func (a *Connections) Connected(c *fiber.Ctx, serverID string) error {
	return frame.Done(c, paths.Connection(serverID), "Connected. Reading its tools…")
}

// NotConnected responds to an authorization that failed to start or finish. A
// browser that is not allowed to finish it is redirected to the list of
// connections, where the user can start again.
func (a *Connections) NotConnected(c *fiber.Ctx, serverID string, err error) error {
	if f := fault.From(err); f.Kind == fault.KindForbidden {
		frame.PutFlash(c, layout.Flash{Tone: "bad", Text: f.Message})
		return c.Redirect(paths.Connections, fiber.StatusSeeOther)
	}
	return frame.Failed(c, paths.Connection(serverID), err)
}
