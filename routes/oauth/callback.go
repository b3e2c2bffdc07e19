package oauth

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/web/guard"
)

// Finisher handles the authorization responses of upstreams' authorization
// servers.
type Finisher interface {
	Finish(ctx context.Context, cb oauthclient.Callback) (oauthclient.Finished, error)
}

// Outcome displays the result of an upstream server's authorization.
type Outcome interface {
	Connected(c *fiber.Ctx, serverID string) error
	// NotConnected displays an error. serverID is empty if the server is unknown.
	NotConnected(c *fiber.Ctx, serverID string, err error) error
}

// Callback serves the redirect URIs of the gateway as an OAuth client:
// /oauth/callback for the client document, and /oauth/callback/:issuerId for
// all other registrations.
type Callback struct {
	connections Finisher
	shared, own Outcome
}

// NewCallback returns the handler. shared displays the results for accounts that
// all users share, own those for users' own accounts.
func NewCallback(connections Finisher, shared, own Outcome) *Callback {
	return &Callback{connections: connections, shared: shared, own: own}
}

// outcome returns the display of a result. Members have no page of shared
// accounts.
func (b *Callback) outcome(person *guard.User, done oauthclient.Finished) Outcome {
	if done.UserID != "" || done.ServerID == "" && person.Role == guard.RoleMember {
		return b.own
	}
	return b.shared
}

// Serve completes an authorization. Mount it behind a guard that identifies the
// user and allows every request: a user who isn't signed in must start again.
// The response doesn't expose the code in another URL or a referrer.
func (b *Callback) Serve(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	person := guard.UserOf(c)
	if person == nil {
		return b.shared.NotConnected(c, "", fault.Forbidden("You are no longer signed in. Sign in and connect the server again."))
	}
	query := c.Request().URI().QueryArgs()
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(query.PeekMulti(name)) > 1 {
			return b.outcome(person, oauthclient.Finished{}).NotConnected(c, "", fault.Invalid("The authorization server's response has more than one %s.", name))
		}
	}
	// The strings outlive the request: they are written to the audit log.
	text := func(name string) string { return strings.Clone(string(query.Peek(name))) }
	done, err := b.connections.Finish(c.UserContext(), oauthclient.Callback{
		SessionID: person.SessionID, UserID: person.ID, IssuerID: strings.Clone(c.Params("issuerId")), State: text("state"), Code: text("code"),
		Issuer: text("iss"), HasIssuer: query.Has("iss"), Error: text("error"), Description: text("error_description"),
	})
	switch {
	case err != nil:
		return b.outcome(person, done).NotConnected(c, done.ServerID, err)
	case done.AuthorizeURL != "":
		return c.Redirect(done.AuthorizeURL, fiber.StatusSeeOther)
	}
	return b.outcome(person, done).Connected(c, done.ServerID)
}
