package connecting

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

// Shared reports pending authorizations of servers whose account all users
// share. Implemented by oauthclient.PendingAuth.
type Shared interface {
	// Reason returns why an administrator must connect a server, or "".
	Reason(serverID string) string
}

// Accounts reports whether users have connected their own accounts. Implemented
// by oauthclient.Connections.
type Accounts interface {
	// Usable returns nil, or CONNECTION_REQUIRED if the user must connect their
	// account. It rarely reads the database.
	Usable(ctx context.Context, server models.Server, userID string) error
}

// Waiting returns what the calls of a caller wait for. It implements Connections
// and the interfaces for lists and searches.
type Waiting struct {
	shared   Shared
	accounts Accounts
	links    Links
}

// NewWaiting returns a Waiting.
func NewWaiting(shared Shared, accounts Accounts, links Links) *Waiting {
	return &Waiting{shared: shared, accounts: accounts, links: links}
}

// Pending returns what calls of a user to a server wait for. userID is empty for
// callers who are not users.
func (w *Waiting) Pending(ctx context.Context, server *models.Server, userID string) upstream.Pending {
	switch {
	case !server.IsPersonal():
		if why := w.shared.Reason(server.ID); why != "" {
			return upstream.Pending{Code: upstream.WarningNeedsConnection, Reason: why}
		}
	case userID == "":
		return upstream.Pending{Code: upstream.WarningNeedsPerson, Reason: "it acts for people: use a personal key, or an app that signs in"}
	case fault.Is(w.accounts.Usable(ctx, *server, userID), fault.CodeConnectionRequired):
		return upstream.Pending{Code: upstream.WarningNeedsConnection, Reason: "it needs your account. Connect it at " + w.links.Link(userID, server.ID, "")}
	}
	return upstream.Pending{}
}
