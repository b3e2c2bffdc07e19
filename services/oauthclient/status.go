package oauthclient

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/accounts"
)

// State is the state of a connection as shown to administrators.
type State string

// The states of a connection. Authorizing and Expiring are never stored: they
// are derived from flows and times.
const (
	NotConnected         State = "not_connected"
	Authorizing          State = "authorizing" // an authorization was started and not finished
	Connected            State = "connected"
	Expiring             State = "expiring"              // valid, but without a refresh token
	Degraded             State = "degraded"              // refreshes fail and are retried
	NeedsReauth          State = "needs_reauth"          // an administrator must authorize it again
	IssuerChanged        State = "issuer_changed"        // the server trusts another authorization server
	RegistrationRejected State = "registration_rejected" // the authorization server rejects the gateway as a client
	BlockedByPolicy      State = "blocked_by_policy"     // GATEWAY_EGRESS_ALLOW doesn't allow the authorization server's address
)

// Reasons of NeedsReauth.
const (
	ReasonInvalidGrant      = "invalid_grant"      // the authorization expired or was revoked
	ReasonNoRefreshToken    = "no_refresh_token"   // the access token expired without a refresh token
	ReasonInsufficientScope = "insufficient_scope" // the server requires scopes that weren't granted
	ReasonURLChanged        = "url_changed"        // the tokens are for another URL than the configured one
	ReasonClientChanged     = "client_changed"     // the static client was changed
	ReasonTokenRefused      = accounts.ReasonTokenRefused
)

// NeedsAuthorization reports whether an administrator must authorize the connection.
func (s State) NeedsAuthorization() bool {
	switch s {
	case NeedsReauth, IssuerChanged, RegistrationRejected:
		return true
	}
	return false
}

// Status is the status of a server's OAuth connection. It contains no secret.
type Status struct {
	ServerID, ProjectID, Alias string

	State  State
	Reason string // reason of the state needs_reauth

	Issuer             string
	Registration       Kind     // document, dynamic or static; empty before the first connection
	RegistrationReason []string // reasons for the registration
	Scopes             []string // granted
	ScopesNeeded       []string // additionally required by the server

	ConnectedAt, RefreshedAt, ExpiresAt, NextAttemptAt *time.Time
	ConnectedBy                                        string

	OwnClient bool // its tokens come from client credentials

	ErrorCode, ErrorText string // of the last failure
	ErrorAt              *time.Time
}

// NeedsPerson reports whether an administrator must authorize the connection,
// at least for some operations.
func (s *Status) NeedsPerson() bool {
	return s.State == NotConnected && !s.OwnClient || s.State.NeedsAuthorization()
}

// WasConnected reports whether the connection worked before and wasn't ended by
// an administrator.
func (s *Status) WasConnected() bool { return s.State != NotConnected && s.ConnectedAt != nil }

// Statuses returns the status of every server that all users share an account
// of by OAuth, by server ID.
func (c *Connections) Statuses(ctx context.Context) (map[string]Status, error) {
	return c.statuses(ctx, "")
}

// Status returns the status of one server. It returns CONFLICT if the server
// doesn't use OAuth or has personal accounts, and NOT_FOUND.
func (c *Connections) Status(ctx context.Context, serverID string) (Status, error) {
	if _, err := c.oauthSubject(ctx, accounts.ID{ServerID: serverID}); err != nil {
		return Status{}, err
	}
	all, err := c.statuses(ctx, serverID)
	return all[serverID], err
}

func (c *Connections) statuses(ctx context.Context, only string) (map[string]Status, error) {
	db := c.DB.WithContext(ctx)
	servers := sharedServers(db)
	flows := db.Select("server_id").Where("consumed_at IS NULL AND expires_at > ? AND user_id = ''", c.Now())
	if only != "" {
		servers, flows = servers.Where("id = ?", only), flows.Where("server_id = ?", only)
	}
	stored, err := accounts.Shared(db, only)
	if err != nil {
		return nil, fault.Internal(err)
	}
	var rows []models.Server
	var open []models.ConnectionFlow
	for _, err := range []error{servers.Find(&rows).Error, flows.Find(&open).Error} {
		if err != nil {
			return nil, fault.Internal(err)
		}
	}
	begun := make(map[string]bool, len(open))
	for i := range open {
		begun[open[i].ServerID] = true
	}
	all := make(map[string]Status, len(rows))
	for _, server := range rows {
		all[server.ID] = c.status(server, stored[server.ID], begun[server.ID])
	}
	return all, nil
}

// sharedServers selects the servers with an account by OAuth that all users
// share, and what their status depends on.
func sharedServers(db *gorm.DB) *gorm.DB {
	return db.Select("id", "project_id", "alias", "url", "auth_type", "config_version",
		"o_auth_client_id", "o_auth_grant", "o_auth_client_auth", "o_auth_key_id", "o_auth_token_url", "o_auth_audience", "o_auth_scopes").
		Where("auth_type = ? AND connection <> ?", models.UpstreamAuthOAuth, models.ConnectionPersonal)
}

func (c *Connections) status(server models.Server, r *models.PersonalConnection, begun bool) Status {
	s := Status{ServerID: server.ID, ProjectID: server.ProjectID, Alias: server.Alias, State: NotConnected, OwnClient: hasOwnClient(&server)}
	if r != nil && s.OwnClient {
		r = &ownOf(&accounts.Connection{PersonalConnection: *r}, &server).PersonalConnection
	}
	if r != nil {
		s.State, s.Reason, s.Issuer = State(r.State), r.Reason, r.Issuer
		s.Registration, s.RegistrationReason, s.Scopes, s.ScopesNeeded = Kind(r.RegistrationKind), r.ChoiceReasons, r.Scopes, r.ScopesNeeded
		s.ConnectedAt, s.RefreshedAt, s.ExpiresAt, s.NextAttemptAt, s.ConnectedBy = r.ConnectedAt, r.RefreshedAt, r.ExpiresAt, r.NextAttemptAt, r.ConnectedBy
		s.ErrorCode, s.ErrorText, s.ErrorAt = r.ErrorCode, r.ErrorText, r.ErrorAt
		s.State, s.Reason = c.shown(&server, r)
	}
	if begun && (s.State == NotConnected || s.State.NeedsAuthorization()) {
		s.State = Authorizing
	}
	return s
}

// shown returns the state derived from the stored row and the time.
func (c *Connections) shown(server *models.Server, r *models.PersonalConnection) (State, string) {
	state, holds, now := State(r.State), r.AccessToken != "" || r.RefreshToken != "" || len(r.Headers) > 0, c.Now()
	ended := r.ExpiresAt != nil && !now.Before(*r.ExpiresAt)
	switch {
	case hasOwnClient(server):
		return state, r.Reason
	case holds && r.RegistrationKind == string(OwnClient):
		return NeedsReauth, ReasonClientChanged
	case holds && r.ServerURL != server.URL:
		return NeedsReauth, ReasonURLChanged
	case holds && r.RegistrationKind == string(Static) && r.ClientID != server.OAuthClientID:
		return NeedsReauth, ReasonClientChanged
	case state != Connected || r.RefreshToken != "":
		return state, r.Reason
	case ended:
		return NeedsReauth, ReasonNoRefreshToken
	case r.RefreshAt != nil && !now.Before(*r.RefreshAt):
		return Expiring, ""
	}
	return state, r.Reason
}
