package oauthclient

import (
	"context"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// PersonalToken holds the values that a user enters to connect their own account.
type PersonalToken struct {
	Bearer    secrets.Value            // zero without a bearer token; "Bearer " before it is dropped
	Headers   map[string]secrets.Value // by header name in any case
	Inventory bool                     // whether the gateway may read the inventory with it
}

// StoreToken connects a user's own account at a server by what the user entered,
// ends its upstream sessions and records connection.connected. At a server with
// OAuth and personal headers it stores only the headers, and the account is
// connected once it is also authorized. It returns VALIDATION_FAILED for missing,
// unknown and unsuitable values, CONFLICT if the server doesn't have such an
// account, and NOT_FOUND for an unknown server or user.
func (c *Connections) StoreToken(ctx context.Context, serverID, userID string, t PersonalToken) error {
	id := accounts.ID{ServerID: serverID, UserID: userID}
	server, err := c.subject(ctx, id)
	if err == nil {
		err = server.check()
	}
	if err != nil {
		return err
	}
	if server.AuthType == models.UpstreamAuthOAuth && len(server.PersonalHeaders) == 0 {
		return fault.Conflict("Server %s doesn't take a token. Sign in to connect it.", server.Alias)
	}
	entered, err := accounts.Check(&server.Server, upstream.Credentials{Bearer: t.Bearer, Headers: t.Headers})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	return retryWrite(ctx, func() error {
		present, _, err := c.load(ctx, id)
		if err != nil {
			return err
		}
		next, err := c.withEntered(ctx, server, present, entered)
		if err != nil {
			return err
		}
		next.InventoryOK = t.Inventory
		return c.save(ctx, next, change{entry: server.entry("connected", map[string]string{"kind": string(models.KindToken)}), also: server.restart})
	})
}

// withEntered returns the connection after a user entered values. At a server
// with OAuth, it keeps the tokens that are for the same URL.
func (c *Connections) withEntered(ctx context.Context, server *subject, present models.PersonalConnection, entered upstream.Credentials) (next *models.PersonalConnection, err error) {
	now, id := c.Now(), server.id()
	if next = &present; server.AuthType != models.UpstreamAuthOAuth || present.ServerURL != server.URL {
		next = &models.PersonalConnection{Connection: models.Connection{
			ServerID: id.ServerID, State: string(NotConnected), ServerURL: server.URL, Version: present.Version, CreatedAt: present.CreatedAt,
		}, UserID: id.UserID, Kind: models.KindOAuth}
	}
	if server.AuthType != models.UpstreamAuthOAuth {
		next.Kind, next.State = models.KindToken, string(Connected)
	}
	if next.Reason == ReasonTokenRefused {
		next.State, next.Reason, next.NextAttemptAt = string(Connected), "", nil
	}
	next.ConnectedAt, next.ConnectedBy = &now, actorName(ctx)
	if !entered.Bearer.IsZero() {
		if next.AccessToken, err = c.seal(entered.Bearer, id.AccessTokenRow()); err != nil {
			return nil, err
		}
	}
	next.Headers = models.StringMap{}
	for name, value := range entered.Headers {
		if next.Headers[name], err = c.seal(value, id.HeaderRow(name)); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// PersonalStatus is the status of a user's own account at a server. It contains
// no secret.
type PersonalStatus struct {
	ServerID, UserID string
	Kind             models.ConnectionKind

	State     State
	Reason    string // reason of the state needs_reauth
	Inventory bool   // whether the gateway may read the inventory with it

	Issuer       string     // empty for a token
	Scopes       []string   // granted
	ScopesNeeded []string   // additionally required by the server
	ConnectedAt  *time.Time // nil without an account
	UsedAt       *time.Time // of the last request, to within an hour; nil if never
	ExpiresAt    *time.Time // of the access token

	ErrorCode, ErrorText string // of the last failure
	ErrorAt              *time.Time
}

// PersonalStatuses returns the status of a user's own accounts, by server. A
// server to which the user never connected is left out.
func (c *Connections) PersonalStatuses(ctx context.Context, userID string) ([]PersonalStatus, error) {
	rows, err := accounts.OfUser(c.DB.WithContext(ctx), userID)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return c.personal(ctx, rows)
}

// StatusesOf returns the status of all users' own accounts at a server, without
// those that were never connected or are disconnected.
func (c *Connections) StatusesOf(ctx context.Context, serverID string) ([]PersonalStatus, error) {
	rows, err := accounts.OfServer(c.DB.WithContext(ctx), serverID)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return c.personal(ctx, rows)
}

// personal returns the status of stored accounts at personal servers.
func (c *Connections) personal(ctx context.Context, rows []models.PersonalConnection) ([]PersonalStatus, error) {
	var servers []models.Server
	of := make([]string, 0, len(rows))
	for i := range rows {
		of = append(of, rows[i].ServerID)
	}
	err := c.DB.WithContext(ctx).Select("id", "url", "auth_type", "o_auth_client_id", "personal_headers").
		Find(&servers, "connection = ? AND id IN ?", models.ConnectionPersonal, of).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	byID := make(map[string]*models.Server, len(servers))
	for i := range servers {
		byID[servers[i].ID] = &servers[i]
	}
	all := make([]PersonalStatus, 0, len(rows))
	for i := range rows {
		if server := byID[rows[i].ServerID]; server != nil {
			all = append(all, c.personalStatus(server, &rows[i]))
		}
	}
	return all, nil
}

func (c *Connections) personalStatus(server *models.Server, r *models.PersonalConnection) PersonalStatus {
	s := PersonalStatus{
		ServerID: r.ServerID, UserID: r.UserID, Kind: r.Kind, Inventory: r.InventoryOK, Issuer: r.Issuer, Scopes: r.Scopes, ScopesNeeded: r.ScopesNeeded,
		ConnectedAt: r.ConnectedAt, UsedAt: r.UsedAt, ExpiresAt: r.ExpiresAt, ErrorCode: r.ErrorCode, ErrorText: r.ErrorText, ErrorAt: r.ErrorAt,
	}
	s.State, s.Reason = c.shown(server, r)
	if !accounts.IsComplete(r, server) && !s.State.NeedsAuthorization() {
		s.State, s.Reason = NotConnected, ""
	}
	return s
}
