// Package connections serves the OAuth connections of servers: their pages, and
// the forms that begin and end them.
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

// Connector begins and ends the OAuth connections of servers.
type Connector interface {
	Start(ctx context.Context, s oauthclient.Start) (authorizeURL string, err error)
	Disconnect(ctx context.Context, serverID string) (revoked bool, err error)
	DropRegistration(ctx context.Context, serverID string) error
}

// Connections serves the buttons of connections and says how they ended, above
// the page of the connection.
type Connections struct {
	pages       *frame.Pages
	connections Connector
}

// New returns the handlers.
func New(pages *frame.Pages, connections Connector) *Connections {
	return &Connections{pages: pages, connections: connections}
}

// Start serves GET /admin/connections/:id/start: it sends the browser to the
// authorization server. A link that wasn't on a page of the administration gets
// a page with a button first, because other sites and programs can open it.
func (a *Connections) Start(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	person := guard.PersonOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	if !fromAdministration(c) && !isStartToken(c.Query("token"), person, c.Params("id")) {
		compress.Never(c) // the token is the same every time
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

// fromAdministration reports whether the browser states that a link on a page
// of the administration was followed. A redirect from the sign-in page, which
// may itself come from another site's link, is not one.
func fromAdministration(c *fiber.Ctx) bool {
	if c.Get("Sec-Fetch-Site") != "same-origin" {
		return false
	}
	referrer, err := url.Parse(c.Get(fiber.HeaderReferer))
	return err == nil && strings.HasPrefix(referrer.Path, paths.Home)
}

// startToken returns what the button of the page carries: it is bound to the
// session and the server, and reveals nothing of the token of forms.
func startToken(person *guard.Person, serverID string) string {
	mac := hmac.New(sha256.New, []byte(person.CSRF))
	mac.Write([]byte("start connection " + serverID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func isStartToken(given string, person *guard.Person, serverID string) bool {
	return person.CSRF != "" && hmac.Equal([]byte(given), []byte(startToken(person, serverID)))
}

// Disconnect serves POST /admin/connections/:id/disconnect.
func (a *Connections) Disconnect(c *fiber.Ctx) error {
	revoked, err := a.connections.Disconnect(c.UserContext(), c.Params("id"))
	if err != nil {
		return frame.Failed(c, paths.Connection(c.Params("id")), err)
	}
	if !revoked {
		return frame.Done(c, paths.Connection(c.Params("id")), "The server is disconnected. Its authorization server did not confirm that the tokens are revoked; withdraw the access there, too.")
	}
	return frame.Done(c, paths.Connection(c.Params("id")), "The server is disconnected and its tokens are revoked.")
}

// DropRegistration serves POST /admin/connections/:id/drop-registration, for
// an authorization server that does not know the gateway any more.
func (a *Connections) DropRegistration(c *fiber.Ctx) error {
	if err := a.connections.DropRegistration(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, paths.Connection(c.Params("id")), err)
	}
	return frame.Done(c, paths.Connection(c.Params("id")), "The registration is dropped. Connect the server to have the gateway registered anew.")
}

// Connected answers the end of an authorization.
func (a *Connections) Connected(c *fiber.Ctx, serverID string) error {
	return frame.Done(c, paths.Connection(serverID), "The server is connected. Its tools are being read.")
}

// NotConnected answers an authorization that could not begin or end. A browser
// that may not finish it is told so on the page where it can begin anew.
func (a *Connections) NotConnected(c *fiber.Ctx, serverID string, err error) error {
	if f := fault.From(err); f.Kind == fault.KindForbidden {
		frame.PutFlash(c, layout.Flash{Tone: "bad", Text: f.Message})
		return c.Redirect(paths.Connections, fiber.StatusSeeOther)
	}
	return frame.Failed(c, paths.Connection(serverID), err)
}
