package oauth

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/web/guard"
)

// Finisher takes the answers of the authorization servers of upstreams.
type Finisher interface {
	Finish(ctx context.Context, cb oauthclient.Callback) (oauthclient.Finished, error)
}

// Outcome shows a person how the authorization of an upstream server ended.
type Outcome interface {
	Connected(c *fiber.Ctx, serverID string) error
	// NotConnected is also for answers of which it is not known what server
	// they are about; then serverID is empty.
	NotConnected(c *fiber.Ctx, serverID string, err error) error
}

// Callback serves the addresses to which authorization servers of upstreams
// send a browser back: /oauth/callback for our client document, and
// /oauth/callback/:issuerId for every other registration.
type Callback struct {
	connections Finisher
	outcome     Outcome
}

// NewCallback returns the handler.
func NewCallback(connections Finisher, outcome Outcome) *Callback {
	return &Callback{connections: connections, outcome: outcome}
}

// Serve finishes an authorization. Mount it behind a guard that knows who is
// signed in and lets everybody pass: who is not is told to begin again, and
// the code never becomes part of another address. What the browser leaves
// learns nothing of it.
func (b *Callback) Serve(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	person := guard.PersonOf(c)
	if person == nil {
		return b.outcome.NotConnected(c, "", fault.Forbidden("you are not signed in any more: sign in and connect the server again"))
	}
	query := c.Request().URI().QueryArgs()
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(query.PeekMulti(name)) > 1 {
			return b.outcome.NotConnected(c, "", fault.Invalid("the authorization server answered with more than one %s", name))
		}
	}
	// The strings outlive the request: they go into the log of changes.
	text := func(name string) string { return strings.Clone(string(query.Peek(name))) }
	done, err := b.connections.Finish(c.UserContext(), oauthclient.Callback{
		SessionID: person.SessionID, IssuerID: strings.Clone(c.Params("issuerId")), State: text("state"), Code: text("code"),
		Issuer: text("iss"), HasIssuer: query.Has("iss"), Error: text("error"), Description: text("error_description"),
	})
	switch {
	case err != nil:
		return b.outcome.NotConnected(c, done.ServerID, err)
	case done.AuthorizeURL != "":
		return c.Redirect(done.AuthorizeURL, fiber.StatusSeeOther)
	}
	return b.outcome.Connected(c, done.ServerID)
}
