package connections

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/views/layout"
	views "mcpgateway/views/me"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// maxAuthorizeURL is the maximum length of an authorization URL in bytes. Longer
// ones don't fit into a cookie.
const maxAuthorizeURL = 2500

// Connect serves POST /me/connections/:serverId/connect. Browsers don't follow a
// form's redirect to another origin, so it redirects to a page that leads there.
func (a *Connections) Connect(c *fiber.Ctx) error {
	ticket, err := a.ticket(c, web.FormValue(c, "t"))
	if err != nil {
		return err
	}
	user, id := guard.UserOf(c), c.Params("serverId")
	to, err := a.Store.Start(c.UserContext(), user.ID, user.SessionID, id, web.FormValue(c, "inventory") != "")
	if err != nil {
		return failed(c, back(id, ticket), err)
	}
	if len(to) > maxAuthorizeURL {
		return failed(c, back(id, ticket), fault.Conflict("The sign-in address of the provider is longer than %d bytes. Ask an administrator to request fewer scopes.", maxAuthorizeURL))
	}
	page := paths.StartMyConnection(id)
	if err := frame.PutOnce(c, a.Seal, a.Now(), page, secrets.NewValue(to)); err != nil {
		return err
	}
	return c.Redirect(page, fiber.StatusSeeOther)
}

// Leave serves GET /me/connections/:serverId/start, once after Connect. It leads
// to the authorization server. At other times it redirects to the page of the
// server.
func (a *Connections) Leave(c *fiber.Ctx) error {
	id := c.Params("serverId")
	to, err := url.Parse(frame.TakeOnce(c, a.Seal, a.Now()))
	if err != nil || to.Scheme != "https" && to.Scheme != "http" || to.Host == "" || strings.ContainsAny(to.Host, " ;,'\"") {
		return c.Redirect(paths.MyConnection(id), fiber.StatusSeeOther)
	}
	mine, err := a.Store.MyServer(c.UserContext(), guard.UserOf(c).ID, id)
	if err != nil {
		return err
	}
	p := views.LeaveProps{
		Frame:    a.Pages.Frame(c, "Continue to "+to.Hostname(), layout.SectionMyConnections),
		ServerID: id, Alias: ui.Clean(mine.Server.Alias), Provider: to.Hostname(),
	}
	query := to.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			p.Query = append(p.Query, ui.Pair{Name: name, Value: value})
		}
	}
	// Browsers also apply form-action to redirects after a form.
	policy := strings.Replace(c.GetRespHeader(fiber.HeaderContentSecurityPolicy), "form-action 'self'", "form-action 'self' "+to.Scheme+"://"+to.Host, 1)
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set("Refresh", "0; url="+to.String())
	action := *to
	action.RawQuery, action.Fragment = "", ""
	p.Action = action.String()
	return web.Render(c, views.Leave(p))
}

// Connected responds to a successful authorization.
func (a *Connections) Connected(c *fiber.Ctx, serverID string) error {
	return frame.Done(c, paths.MyConnection(serverID), "Connected. If an app asked for it, go back to the app.")
}

// NotConnected responds to an authorization that failed to finish.
func (a *Connections) NotConnected(c *fiber.Ctx, serverID string, err error) error {
	to := paths.MyConnections
	if serverID != "" {
		to = paths.MyConnection(serverID)
	}
	if f := fault.From(err); f.Kind == fault.KindForbidden {
		frame.PutFlash(c, layout.Flash{Tone: "bad", Text: f.Message})
		return c.Redirect(paths.MyConnections, fiber.StatusSeeOther)
	}
	return failed(c, to, err)
}
