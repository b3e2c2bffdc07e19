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
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient/authserver"
)

// Callback is what an authorization server sent a browser back with.
type Callback struct {
	SessionID string // of the browser session
	IssuerID  string // of the path; empty for the client document's callback

	State, Code        string
	Issuer             string // the parameter iss
	HasIssuer          bool
	Error, Description string
}

// Finished is the outcome of a callback.
type Finished struct {
	ServerID  string // empty when it is not known which server it was about
	ProjectID string
	// AuthorizeURL is where to send the browser once more, because the
	// authorization server had forgotten the gateway and knows it anew; empty
	// when all is done.
	AuthorizeURL string
}

// Finish takes the one use of a flow, exchanges the code for tokens and stores
// the connection, which ends the upstream sessions of the old one (recorded as
// connection.connected). Nothing goes to the authorization server before the
// state, the browser session, the callback's address and the issuer were
// compared (RFC 9207, RFC 9700 section 4.4).
//
// It returns FORBIDDEN for another browser session, INVALID_PARAMETER for a
// state that is unknown, used or expired, and an UPSTREAM_ fault when the
// authorization server refused or cannot be trusted; then the connection keeps
// what it had.
func (c *Connections) Finish(ctx context.Context, cb Callback) (Finished, error) {
	flow, err := c.consume(ctx, cb)
	if err != nil {
		return Finished{}, err
	}
	server, err := c.oauthServer(ctx, flow.ServerID)
	if err != nil {
		return Finished{}, err
	}
	done := Finished{ServerID: server.ID, ProjectID: server.ProjectID}
	if server.URL != flow.ServerURL {
		return done, fault.Conflict("the URL of server %s was changed since the authorization began: connect it again", server.Alias)
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
		done.AuthorizeURL, err = c.start(ctx, server, Start{ServerID: server.ID, SessionID: cb.SessionID}, true)
		return done, err
	}
	return done, c.noteFailure(ctx, server, f)
}

// consume takes the flow of a state, which can be taken once.
func (c *Connections) consume(ctx context.Context, cb Callback) (*models.ConnectionFlow, error) {
	if cb.SessionID == "" {
		return nil, fault.Unauthorized()
	}
	gone := fault.Invalid("this authorization is unknown, was used already or took longer than ten minutes: connect the server again")
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
	case flow.SessionID != cb.SessionID:
		// It stays for the browser that began it.
		return nil, fault.Forbidden("this authorization was begun in another browser session: connect the server from this one")
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

// complete checks the answer and exchanges its code. The error may be a failure.
func (c *Connections) complete(ctx context.Context, server *subject, flow *models.ConnectionFlow, cb Callback) error {
	if err := c.comesFrom(flow, cb); err != nil {
		return err
	}
	if cb.Error != "" {
		text := "the authorization server answered: " + cb.Error
		if cb.Description != "" {
			text += " (" + cb.Description + ")"
		}
		return fail(NotConnected, authserver.DisplayText(cb.Error), text)
	}
	if cb.Code == "" {
		return fail(NotConnected, authserver.CodeTokenResponse, "the authorization server answered without a code")
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
	granted, err := c.authClient.Token(ctx, flow.TokenEndpoint, self, form)
	if err != nil {
		return err
	}
	// The browser may leave now; the tokens exist once only.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	return c.connect(ctx, server, flow, granted)
}

// comesFrom compares the issuer that an answer names with the flow's, as plain
// strings (RFC 9207 section 2.4, MCP 2026-07-28): required where it was
// promised, compared wherever it is there. The address of the callback tells
// issuers apart as well.
func (c *Connections) comesFrom(flow *models.ConnectionFlow, cb Callback) error {
	address := c.base + CallbackPath
	if cb.IssuerID != "" {
		address += "/" + cb.IssuerID
	}
	switch {
	case address != flow.RedirectURI:
		return fail(NotConnected, authserver.CodeIssuer, "the answer came to the address of another authorization server")
	case cb.HasIssuer && cb.Issuer != flow.Issuer:
		return fail(NotConnected, authserver.CodeIssuer, "the answer came from another issuer than "+flow.Issuer)
	case !cb.HasIssuer && flow.IssuerRequired:
		return fail(NotConnected, authserver.CodeIssuer, "the answer does not name its issuer, although "+flow.Issuer+" promised to")
	}
	return nil
}

// flowClient returns the client that a flow was begun as.
func (c *Connections) flowClient(ctx context.Context, server *subject, flow *models.ConnectionFlow) (authserver.Credentials, error) {
	return c.clientOf(ctx, server.Server, Kind(flow.RegistrationKind), flow.RegistrationID, flow.ClientID, flow.AuthMethod)
}

// clientOf returns a client with its secret. The error is a failure when its
// registration is gone or another static client was entered.
func (c *Connections) clientOf(ctx context.Context, server models.Server, kind Kind, registrationID, clientID, method string) (authserver.Credentials, error) {
	self := authserver.Credentials{ID: clientID, Method: method}
	var err error
	switch kind {
	case Dynamic:
		var r models.ConnectionRegistration
		err = c.DB.WithContext(ctx).First(&r, "id = ?", registrationID).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return self, fail(RegistrationRejected, authserver.CodeInvalidClient, "the registration at the authorization server was dropped")
		}
		if err != nil {
			return self, fault.Internal(err)
		}
		self.Secret, err = c.open(r.ClientSecret, RegistrationSecretRow(r.ID))
	case Static:
		if server.OAuthClientID != clientID {
			return self, fail(NeedsReauth, ReasonClientChanged, "another static client was entered since: connect the server again")
		}
		self.Secret, err = c.ClientSecret(server)
	}
	return self, err
}

// connect stores granted tokens as the connection of the server.
func (c *Connections) connect(ctx context.Context, server *subject, flow *models.ConnectionFlow, granted authserver.Tokens) error {
	return again(ctx, func() error {
		present, _, err := row(c.DB.WithContext(ctx), server.ID)
		if err != nil {
			return err
		}
		now := c.Now()
		next := models.Connection{
			ServerID: server.ID, State: string(Connected), ServerURL: flow.ServerURL, Issuer: flow.Issuer, Resource: flow.Resource,
			TokenEndpoint: flow.TokenEndpoint, RevocationEndpoint: flow.RevocationEndpoint,
			RegistrationKind: flow.RegistrationKind, RegistrationID: flow.RegistrationID, ClientID: flow.ClientID, AuthMethod: flow.AuthMethod,
			ChoiceReasons: flow.ChoiceReasons, ConnectedAt: &now, ConnectedBy: actorName(ctx),
			Version: present.Version, CreatedAt: present.CreatedAt, Scopes: flow.Scopes,
		}
		if err := c.take(&next, granted); err != nil {
			return err
		}
		return c.save(ctx, &next, change{
			entry: server.entry("connected", map[string]string{
				"issuer": flow.Issuer, "registration": flow.RegistrationKind, "because": strings.Join(flow.ChoiceReasons, "; "), "scopes": joinScopes(next.Scopes),
			}),
			topics: []notify.Topic{notify.Toolset(server.ProjectID)},
			also: func(tx *gorm.DB) error {
				if err := renewSessions(tx, server.ID); err != nil {
					return err
				}
				return tx.Delete(&models.ConnectionFlow{}, "server_id = ?", server.ID).Error
			},
		})
	})
}

// renewSessions ends the upstream sessions of a server and has it synced,
// because another account may stand behind its connection now.
func renewSessions(tx *gorm.DB, serverID string) error {
	return tx.Model(&models.Server{}).Where("id = ?", serverID).UpdateColumn("config_version", gorm.Expr("config_version + 1")).Error
}
