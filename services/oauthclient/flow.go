package oauthclient

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
)

// Start holds the parameters of an authorization to start.
type Start struct {
	ServerID  string
	SessionID string // browser session that starts the flow and must finish it
	// UserID is the user of the session who connects their own account. It is
	// empty for the account that all users share.
	UserID    string
	Inventory bool // whether the gateway may read the inventory with the user's account
}

func (s *Start) id() accounts.ID { return accounts.ID{ServerID: s.ServerID, UserID: s.UserID} }

// Start discovers the server's authorization server, selects a registration
// there, and returns the URL to redirect the browser to. It may register the
// gateway (recorded as connection.registered) and stores the flow for 10
// minutes (recorded as connection.started). It returns UNAUTHORIZED without a
// browser session, NOT_FOUND for an unknown server, CONFLICT if the server
// doesn't use OAuth or doesn't have such an account, and an UPSTREAM_ fault for a problem at the other side,
// which is also stored in the connection's status.
func (c *Connections) Start(ctx context.Context, s Start) (authorizeURL string, err error) {
	if s.SessionID == "" {
		return "", fault.Unauthorized()
	}
	server, err := c.oauthSubject(ctx, s.id())
	if err != nil {
		return "", err
	}
	if hasOwnClient(&server.Server) {
		return "", fault.Conflict("Server %s uses client credentials. The gateway requests its tokens itself.", server.Alias)
	}
	return c.start(ctx, server, s, false)
}

func (c *Connections) start(ctx context.Context, server *subject, s Start, repeated bool) (string, error) {
	present, _, err := c.load(ctx, server.id())
	if err != nil {
		return "", err
	}
	address, err := c.prepare(ctx, server, &present, s, repeated)
	if f, ok := asFailure(err); ok {
		return "", c.noteFailure(ctx, server, f)
	}
	return address, err
}

// prepare implements Start. Its error may be a failure.
func (c *Connections) prepare(ctx context.Context, server *subject, present *models.PersonalConnection, s Start, repeated bool) (string, error) {
	found, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	address, err := c.address(server.Server)
	if err != nil {
		return "", err
	}
	said, err := c.at(&server.Server).Probe(found, address)
	if err != nil {
		return "", err
	}
	a, err := c.at(&server.Server).Discover(found, address, said, present.Issuer)
	if err != nil {
		return "", err
	}
	scopes := a.RequestScopes(server.OAuthScopes, c.keptScopes(present, server, a))
	known, err := c.register(ctx, server, a, scopes)
	if f, ok := asFailure(err); ok {
		at := *f
		at.issuer, at.reasons = a.Issuer, known.reasons
		return "", &at
	}
	if err != nil {
		return "", err
	}
	state, verifier := randomText(), randomText()
	hash := sha256.Sum256([]byte(state))
	now := c.Now()
	flow := models.ConnectionFlow{
		StateHash: hash[:], ServerID: server.ID, UserID: s.UserID, SessionID: s.SessionID, InventoryOK: s.Inventory, ServerURL: server.URL,
		Issuer: a.Issuer, IssuerRequired: a.IssuerRequired, Resource: a.Resource, TokenEndpoint: a.TokenEndpoint, RevocationEndpoint: a.RevocationEndpoint,
		RedirectURI: known.redirectURI, Scopes: scopes,
		RegistrationKind: string(known.kind), RegistrationID: known.registrationID, ClientID: known.client.ID, AuthMethod: known.client.Method,
		ChoiceReasons: known.reasons, Repeated: repeated, CreatedAt: now, ExpiresAt: now.Add(FlowLifetime),
	}
	if flow.Verifier, err = c.Keys.Seal(secrets.NewValue(verifier), verifierRow(hash[:])); err != nil {
		return "", err
	}
	if err := c.storeFlow(ctx, server, &flow); err != nil {
		return "", err
	}
	return a.AuthorizationURL(authserver.AuthorizationRequest{
		ClientID: flow.ClientID, RedirectURI: flow.RedirectURI, State: state, Verifier: verifier, Scopes: scopes,
	})
}

// keptScopes returns the scopes to request in addition to a server's usual
// ones: those it reported as missing and, in that case, those granted before,
// which a new authorization would lose (SEP-2350). Grants of another issuer
// don't count.
func (c *Connections) keptScopes(present *models.PersonalConnection, server *subject, a *authserver.Metadata) []string {
	if len(present.ScopesNeeded) == 0 || present.Issuer != a.Issuer || present.ServerURL != server.URL {
		return nil
	}
	return slices.Concat(present.Scopes, present.ScopesNeeded)
}

// maxFlows is the maximum number of open flows per account. The oldest are
// deleted.
const maxFlows = 20

func (c *Connections) storeFlow(ctx context.Context, server *subject, flow *models.ConnectionFlow) error {
	err := c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Delete(&models.ConnectionFlow{}, "expires_at <= ?", flow.CreatedAt).Error; err != nil {
			return err
		}
		var open []models.ConnectionFlow
		if err := tx.Select("state_hash").Order("created_at DESC").Offset(maxFlows-1).Limit(maxFlows).Find(&open, "server_id = ? AND user_id = ?", server.ID, server.userID).Error; err != nil {
			return err
		}
		for i := range open {
			if err := tx.Delete(&open[i]).Error; err != nil {
				return err
			}
		}
		if err := tx.Create(flow).Error; err != nil {
			return err
		}
		return c.Audit.Record(tx, *server.entry("started", map[string]string{
			"issuer": flow.Issuer, "registration": flow.RegistrationKind, "because": strings.Join(flow.ChoiceReasons, "; "), "scopes": joinScopes(flow.Scopes),
		}))
	})
	if errors.Is(err, gorm.ErrForeignKeyViolated) {
		return fault.NotFound("server", server.ID)
	}
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// noteFailure stores the failure of an authorization and returns it as a fault.
// A working connection keeps its state.
func (c *Connections) noteFailure(ctx context.Context, server *subject, f *failure) error {
	present, _, err := c.load(ctx, server.id())
	if err != nil {
		return err
	}
	if present.AccessToken == "" && present.RefreshToken == "" && (f.state == RegistrationRejected || f.state == BlockedByPolicy) {
		present.State, present.Reason = string(f.state), ""
		if f.issuer != "" { // shown to the administrator who enters a static client
			present.Issuer, present.RegistrationKind, present.ChoiceReasons = f.issuer, "", f.reasons
		}
	}
	c.failed(&present, f)
	err = c.save(ctx, &present, change{entry: server.entry("failed", map[string]string{"code": f.code, "message": f.text})})
	if err != nil && !errors.Is(err, accounts.ErrOutdated) {
		return err
	}
	return server.fault(f)
}

// randomText returns 256 random bits as 43 characters, valid as a state and as
// a code verifier (RFC 7636 section 4.1).
func randomText() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func verifierRow(stateHash []byte) string {
	return "connection_flows/" + hex.EncodeToString(stateHash) + "/verifier"
}

// actorName returns the display name of the actor.
func actorName(ctx context.Context) string {
	a := activity.ActorOf(ctx)
	if a.Name != "" {
		return a.Name
	}
	return string(a.Kind)
}
