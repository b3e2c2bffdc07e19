package oauthclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/certificates"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
)

// OwnClient is the kind of registration of a server with client credentials
// (RFC 6749, section 4.4). Its authorization needs no browser: the gateway requests
// a token when it needs one. Its RegistrationID identifies the configuration.
const OwnClient Kind = accounts.OwnClient

// hasOwnClient reports whether a server's tokens come from client credentials.
func hasOwnClient(server *models.Server) bool {
	return server.AuthType == models.UpstreamAuthOAuth && server.OAuthGrant == models.GrantClientCredentials
}

// ownClientID returns the RegistrationID of a server: a hash of the settings that its
// tokens depend on, a slash, and the version of its configuration.
func ownClientID(server *models.Server) string {
	fields, _ := json.Marshal([]any{ // strings always marshal
		server.URL, server.AuthType, server.OAuthGrant, server.OAuthClientAuth, server.OAuthClientID, server.OAuthKeyID, server.OAuthTokenURL, server.OAuthAudience, server.OAuthScopes,
	})
	hash := sha256.Sum256(fields)
	return hex.EncodeToString(hash[:16]) + "/" + strconv.FormatInt(server.ConfigVersion, 10)
}

// ownOf returns the connection for a server. With client credentials, a connection of
// other ones is replaced by an empty one. So is one that the authorization server
// rejected before the configuration was changed. A changed issuer stays until the
// server is disconnected.
func ownOf(o *accounts.Connection, server *models.Server) *accounts.Connection {
	if !hasOwnClient(server) {
		return o
	}
	id := ownClientID(server)
	hash, _, _ := strings.Cut(id, "/")
	rejected := State(o.State).NeedsAuthorization() && State(o.State) != IssuerChanged
	if o.RegistrationKind == string(OwnClient) && strings.HasPrefix(o.RegistrationID, hash) && (!rejected || o.RegistrationID == id) {
		return o
	}
	fresh := &accounts.Connection{}
	fresh.Kind, fresh.Connection = o.Kind, models.Connection{
		ServerID: o.ServerID, State: string(NotConnected), ServerURL: server.URL, RegistrationKind: string(OwnClient), RegistrationID: id,
		ClientID: server.OAuthClientID, AuthMethod: string(server.OAuthClientAuth), Version: o.Version, CreatedAt: o.CreatedAt,
	}
	return fresh
}

// unusableOwn implements unusable for client credentials. A valid token stays in
// use. A rejected client is used again as soon as its secret has another value.
func (c *Connections) unusableOwn(o *accounts.Connection, a *account) error {
	if !State(o.State).NeedsAuthorization() || o.Reason == ReasonInsufficientScope || o.IsValid(c.Now()) || c.secretChanged(&a.Server) {
		return nil
	}
	return fail(State(o.State), o.ErrorCode, "An administrator must correct its client credentials. "+o.ErrorText).asFault(a.Alias)
}

// secretChanged reports whether the secret of a server's client differs from the
// one that this process used last, or first found rejected.
func (c *Connections) secretChanged(server *models.Server) bool {
	secret, err := c.ownSecret(server)
	if err != nil {
		return false
	}
	hash := sha256.Sum256([]byte(secret.Reveal()))
	known, found := c.ownSecrets.LoadOrStore(server.ID, hash)
	return found && known != hash
}

// ownSecret returns the client secret, or the private key, of a server.
func (c *Connections) ownSecret(server *models.Server) (secrets.Value, error) {
	if server.OAuthClientAuth == models.PrivateKeyJWT {
		return c.PrivateKey(*server)
	}
	return c.ClientSecret(*server)
}

// ownClient returns the credentials of a server at the authorization server of its
// connection. The audience of assertions is the configured one, else the issuer,
// else the token endpoint. The error may be a failure.
func (c *Connections) ownClient(server *models.Server, r *models.Connection) (authserver.Credentials, error) {
	self := authserver.Credentials{ID: server.OAuthClientID, Method: string(server.OAuthClientAuth)}
	var err error
	if self.Secret, err = c.ownSecret(server); err != nil {
		return self, err
	}
	if self.Secret.IsZero() {
		return self, fail(RegistrationRejected, codeNoSecret, "Its client credentials have no secret. Enter one.")
	}
	if server.OAuthClientAuth != models.PrivateKeyJWT {
		return self, nil
	}
	key, _, err := certificates.SigningKey(self.Secret.Reveal())
	if err != nil {
		return self, fail(RegistrationRejected, codeNoSecret, "The private key of its client credentials "+err.Error()+".")
	}
	self.Key = &authserver.SigningKey{Key: key, ID: server.OAuthKeyID, Audience: r.TokenEndpoint}
	for _, audience := range []string{r.Issuer, server.OAuthAudience} {
		if audience != "" {
			self.Key.Audience = audience
		}
	}
	return self, nil
}

// requestOwn requests a token with the client credentials of a server (RFC 6749,
// section 4.4.2) and completes the connection with what it discovers. The caller
// must hold the lock. The error may be a failure.
func (c *Connections) requestOwn(ctx context.Context, o *accounts.Connection, server *models.Server) (authserver.Tokens, error) {
	if o.TokenEndpoint == "" {
		if err := c.discoverOwn(ctx, o, server); err != nil {
			return authserver.Tokens{}, err
		}
	}
	self, err := c.ownClient(server, &o.Connection)
	if err != nil {
		return authserver.Tokens{}, err
	}
	c.ownSecrets.Store(server.ID, sha256.Sum256([]byte(self.Secret.Reveal())))
	form := url.Values{"grant_type": {string(OwnClient)}}
	if o.Resource != "" {
		form.Set("resource", o.Resource)
	}
	if len(o.Scopes) > 0 {
		form.Set("scope", joinScopes(o.Scopes))
	}
	granted, err := c.at(server).Token(ctx, o.TokenEndpoint, self, form)
	granted.Refresh = secrets.Value{} // not needed, and not expected (section 4.4.3)
	return granted, err
}

// discoverOwn sets the authorization server of a connection. A configured token
// endpoint replaces discovery.
func (c *Connections) discoverOwn(ctx context.Context, o *accounts.Connection, server *models.Server) error {
	if server.OAuthTokenURL != "" {
		o.TokenEndpoint, o.Scopes = server.OAuthTokenURL, authserver.ValidScopes(server.OAuthScopes)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	address, err := c.address(*server)
	if err != nil {
		return err
	}
	said, err := c.at(server).Probe(ctx, address)
	if err != nil {
		return err
	}
	m, err := c.at(server).DiscoverToken(ctx, address, said, o.Issuer)
	if err != nil {
		return err
	}
	o.Issuer, o.Resource, o.TokenEndpoint, o.RevocationEndpoint, o.Scopes = m.Issuer, m.Resource, m.TokenEndpoint, m.RevocationEndpoint, m.ClientScopes(server.OAuthScopes)
	return nil
}

// ownCurrent returns a copy of the connection for changes and the stored
// configuration of the server. A caller with another configuration must repeat its
// call: a token of the stored one may not be for its URL.
func (c *Connections) ownCurrent(ctx context.Context, o *accounts.Connection, a account) (*accounts.Connection, account, error) {
	stored, err := c.subject(ctx, a.id())
	if err != nil {
		return nil, a, err
	}
	ours, _, _ := strings.Cut(ownClientID(&a.Server), "/")
	if !strings.HasPrefix(ownClientID(&stored.Server), ours+"/") {
		f := fail(Degraded, authserver.CodeServerError, "Its configuration has changed. Retry.")
		f.retry = time.Second
		return nil, a, a.fault(f)
	}
	o = ownOf(o, &stored.Server)
	return &accounts.Connection{PersonalConnection: o.PersonalConnection, Access: o.Access}, stored.account, nil
}
