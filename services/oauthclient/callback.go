package oauthclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/url"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/oauthclient/authserver"
)

// Callback holds the parameters of an authorization server's redirect.
type Callback struct {
	SessionID string // of the browser session
	UserID    string // of its user
	IssuerID  string // from the path; empty for the callback of the client document

	State, Code        string
	Issuer             string // iss (RFC 9207)
	HasIssuer          bool
	Error, Description string
}

// Finished is the result of a callback.
type Finished struct {
	ServerID  string // empty if the server is unknown
	ProjectID string
	UserID    string // who connected their own account; empty for the shared one
	// AuthorizeURL is the URL to redirect the browser to for another attempt,
	// because the authorization server had deleted the registration. It is empty
	// if the authorization is complete.
	AuthorizeURL string
}

// Finish consumes a flow, exchanges the code for tokens and stores the
// connection. It ends the upstream sessions of the previous one and records
// connection.connected. Before anything is sent to the authorization server, it
// checks the state, the browser session, the callback URL and the issuer (RFC
// 9207, RFC 9700 section 4.4).
//
// It returns FORBIDDEN for another browser session or user, INVALID_PARAMETER for an
// unknown, used or expired state, and an UPSTREAM_ fault if the authorization
// server rejects the request or isn't trustworthy. A fault leaves the stored
// tokens unchanged.
func (c *Connections) Finish(ctx context.Context, cb Callback) (Finished, error) {
	flow, err := c.consume(ctx, cb)
	if err != nil {
		return Finished{}, err
	}
	done := Finished{ServerID: flow.ServerID, UserID: flow.UserID}
	server, err := c.oauthSubject(ctx, accounts.ID{ServerID: flow.ServerID, UserID: flow.UserID})
	if err != nil {
		return done, err
	}
	done.ProjectID = server.ProjectID
	if server.URL != flow.ServerURL {
		return done, fault.Conflict("The URL of server %s changed during the authorization. Reconnect it.", server.Alias)
	}
	err = c.complete(ctx, server, flow, cb)
	f, ok := asFailure(err)
	if !ok {
		return done, err
	}
	if f.code == authserver.CodeInvalidClient && flow.RegistrationID != "" && !flow.Repeated {
		if err := c.dropRegistration(ctx, server, flow.RegistrationID); err != nil {
			return done, err
		}
		done.AuthorizeURL, err = c.start(ctx, server, Start{ServerID: server.ID, SessionID: cb.SessionID, UserID: flow.UserID, Inventory: flow.InventoryOK}, true)
		return done, err
	}
	return done, c.noteFailure(ctx, server, f)
}

// consume returns the flow of a state and marks it as consumed. A flow can be
// consumed once.
func (c *Connections) consume(ctx context.Context, cb Callback) (*models.ConnectionFlow, error) {
	if cb.SessionID == "" {
		return nil, fault.Unauthorized()
	}
	gone := fault.Invalid("This authorization is unknown, was already used or took longer than 10 minutes. Reconnect the server.")
	for _, given := range []string{cb.State, cb.Code, cb.Issuer} {
		if len(given) > maxCallback || given != "" && !authserver.IsVisible(given) {
			return nil, gone
		}
	}
	hash := sha256.Sum256([]byte(cb.State))
	now := c.Now()
	var flow models.ConnectionFlow
	err := c.DB.WithContext(ctx).First(&flow, "state_hash = ? AND consumed_at IS NULL AND expires_at > ?", hash[:], now).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return nil, gone
	case err != nil:
		return nil, fault.Internal(err)
	case flow.SessionID != cb.SessionID || flow.UserID != "" && flow.UserID != cb.UserID:
		// The flow stays valid for the browser that started it.
		return nil, fault.Forbidden("This authorization was started in another browser session. Connect the server from this one.")
	}
	taken := c.DB.WithContext(ctx).Model(&models.ConnectionFlow{}).Where("state_hash = ? AND consumed_at IS NULL", hash[:]).Update("consumed_at", now)
	switch {
	case taken.Error != nil:
		return nil, fault.Internal(taken.Error)
	case taken.RowsAffected == 0:
		return nil, gone
	}
	return &flow, nil
}

// complete checks the callback and exchanges its code. The error may be a
// failure.
func (c *Connections) complete(ctx context.Context, server *subject, flow *models.ConnectionFlow, cb Callback) error {
	if err := c.comesFrom(flow, cb); err != nil {
		return err
	}
	if cb.Error != "" {
		text := "The authorization server responded with the error " + cb.Error
		if cb.Description != "" {
			text += " (" + cb.Description + ")"
		}
		return fail(NotConnected, authserver.DisplayText(cb.Error), text)
	}
	if cb.Code == "" {
		return fail(NotConnected, authserver.CodeTokenResponse, "The authorization server responded without a code.")
	}
	self, err := c.flowClient(ctx, server, flow)
	if err != nil {
		return err
	}
	verifier, err := c.Keys.Open(flow.Verifier, verifierRow(flow.StateHash))
	if err != nil {
		return err
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {cb.Code}, "redirect_uri": {flow.RedirectURI}, "code_verifier": {verifier.Reveal()},
	}
	if flow.Resource != "" {
		form.Set("resource", flow.Resource)
	}
	granted, err := c.at(&server.Server).Token(ctx, flow.TokenEndpoint, self, form)
	if err != nil {
		return err
	}
	// A disconnect of the browser must not lose the tokens, which are sent once.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	return c.connect(ctx, server, flow, granted)
}

// comesFrom compares the issuer of a callback with the flow's as strings (RFC
// 9207 section 2.4, MCP 2026-07-28). iss is required if the metadata announces
// it, and is compared whenever it is present. The callback URL also identifies
// the issuer.
func (c *Connections) comesFrom(flow *models.ConnectionFlow, cb Callback) error {
	address := c.base + CallbackPath
	if cb.IssuerID != "" {
		address += "/" + cb.IssuerID
	}
	switch {
	case address != flow.RedirectURI:
		return fail(NotConnected, authserver.CodeIssuer, "The response was sent to the callback URL of another authorization server.")
	case cb.HasIssuer && cb.Issuer != flow.Issuer:
		return fail(NotConnected, authserver.CodeIssuer, "The response has another issuer than "+flow.Issuer+".")
	case !cb.HasIssuer && flow.IssuerRequired:
		return fail(NotConnected, authserver.CodeIssuer, "The response has no issuer, but "+flow.Issuer+" announces one.")
	}
	return nil
}

// flowClient returns the client credentials of a flow.
func (c *Connections) flowClient(ctx context.Context, server *subject, flow *models.ConnectionFlow) (authserver.Credentials, error) {
	return c.clientOf(ctx, server.Server, Kind(flow.RegistrationKind), flow.RegistrationID, flow.ClientID, flow.AuthMethod)
}

// clientOf returns client credentials with the decrypted secret. The error is a
// failure if the registration was deleted or the static client was changed.
func (c *Connections) clientOf(ctx context.Context, server models.Server, kind Kind, registrationID, clientID, method string) (authserver.Credentials, error) {
	self := authserver.Credentials{ID: clientID, Method: method}
	var err error
	switch kind {
	case Dynamic:
		var r models.ConnectionRegistration
		err = c.DB.WithContext(ctx).First(&r, "id = ?", registrationID).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return self, fail(RegistrationRejected, authserver.CodeInvalidClient, "The registration at the authorization server was deleted. Reconnect the server.")
		}
		if err != nil {
			return self, fault.Internal(err)
		}
		self.Secret, err = c.open(r.ClientSecret, RegistrationSecretRow(r.ID))
	case Static:
		if server.OAuthClientID != clientID {
			return self, fail(NeedsReauth, ReasonClientChanged, "The static client was changed. Reconnect the server.")
		}
		self.Secret, err = c.ClientSecret(server)
	case OwnClient:
		self.Secret, err = c.ownSecret(&server)
	}
	return self, err
}

// connect stores tokens as the connection of the server.
func (c *Connections) connect(ctx context.Context, server *subject, flow *models.ConnectionFlow, granted authserver.Tokens) error {
	return retryWrite(ctx, func() error {
		present, _, err := c.load(ctx, server.id())
		if err != nil {
			return err
		}
		now := c.Now()
		var headers models.StringMap
		if present.ServerURL == flow.ServerURL {
			headers = present.Headers
		}
		next := models.PersonalConnection{Connection: models.Connection{
			ServerID: server.ID, State: string(Connected), ServerURL: flow.ServerURL, Issuer: flow.Issuer, Resource: flow.Resource,
			TokenEndpoint: flow.TokenEndpoint, RevocationEndpoint: flow.RevocationEndpoint,
			RegistrationKind: flow.RegistrationKind, RegistrationID: flow.RegistrationID, ClientID: flow.ClientID, AuthMethod: flow.AuthMethod,
			ChoiceReasons: flow.ChoiceReasons, ConnectedAt: &now, ConnectedBy: actorName(ctx),
			Version: present.Version, CreatedAt: present.CreatedAt, Scopes: flow.Scopes,
		}, UserID: server.userID, Kind: models.KindOAuth, Headers: headers, InventoryOK: flow.InventoryOK}
		if err := c.applyTokens(&next, granted); err != nil {
			return err
		}
		return c.save(ctx, &next, change{
			entry: server.entry("connected", map[string]string{
				"issuer": flow.Issuer, "registration": flow.RegistrationKind, "because": strings.Join(flow.ChoiceReasons, "; "), "scopes": joinScopes(next.Scopes),
			}),
			topics: server.topics(),
			also:   server.restart,
		})
	})
}
