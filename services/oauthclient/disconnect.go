package oauthclient

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/oauthclient/authserver"
)

// Disconnect deletes the credentials of a user's own account at a server, or of
// the shared one if userID is empty. It ends the upstream sessions of the account
// and records connection.disconnected. Then it requests revocation of the tokens
// (RFC 7009) for at most 10 seconds and reports whether it succeeded. The
// registration stays. Without a connection, it does nothing. It returns
// NOT_FOUND for an unknown server or user.
func (c *Connections) Disconnect(ctx context.Context, serverID, userID string) (revoked bool, err error) {
	id := accounts.ID{ServerID: serverID, UserID: userID}
	server, err := c.subject(ctx, id)
	if err != nil {
		return false, err
	}
	var old models.PersonalConnection
	var found bool
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	err = retryWrite(ctx, func() (err error) {
		if old, found, err = c.load(ctx, id); err != nil || !found {
			return err
		}
		next := models.PersonalConnection{Connection: models.Connection{
			ServerID: serverID, State: string(NotConnected), ServerURL: old.ServerURL, Version: old.Version, CreatedAt: old.CreatedAt,
		}, UserID: userID, Kind: old.Kind}
		return models.Essential(c.DB, func() error {
			return c.save(ctx, &next, change{
				entry:  server.entry("disconnected", map[string]string{"issuer": old.Issuer}),
				topics: server.topics(),
				also:   server.restart,
			})
		})
	})
	if err != nil || !found || old.RevocationEndpoint == "" {
		return false, err
	}
	if err := c.revokeAll(ctx, server, &old); err != nil {
		c.Log.Warn("token revocation failed", "server", server.Alias, "issuer", old.Issuer, "error", err)
		return false, nil
	}
	return true, nil
}

// revokeAll revokes the refresh token, for which most servers also revoke the
// access token, and then the access token.
func (c *Connections) revokeAll(ctx context.Context, server *subject, old *models.PersonalConnection) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	client := func() (authserver.Credentials, error) {
		if hasOwnClient(&server.Server) {
			return c.ownClient(&server.Server, &old.Connection)
		}
		return c.clientOf(ctx, server.Server, Kind(old.RegistrationKind), old.RegistrationID, old.ClientID, old.AuthMethod)
	}
	self, err := client()
	if err != nil {
		return err
	}
	var failures []error
	for _, sealed := range []struct{ token, row, hint string }{
		{old.RefreshToken, accounts.IDOf(old).RefreshTokenRow(), "refresh_token"},
		{old.AccessToken, accounts.IDOf(old).AccessTokenRow(), "access_token"},
	} {
		token, err := c.open(sealed.token, sealed.row)
		if err == nil && !token.IsZero() {
			err = c.at(&server.Server).Revoke(ctx, old.RevocationEndpoint, self, token, sealed.hint)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// SweepDisabled deletes the accounts of users who were disabled 30 days ago or
// earlier, and records connection.disconnected for each. It doesn't revoke tokens. It
// is safe to run in several processes at once.
func (c *Connections) SweepDisabled(ctx context.Context) error {
	rows, err := accounts.OfDisabled(c.DB.WithContext(ctx), c.Now().Add(-disabledKept))
	if err != nil {
		return err
	}
	for i := range rows {
		id := accounts.IDOf(&rows[i])
		server, err := c.subject(ctx, id)
		if fault.Is(err, fault.CodeNotFound) {
			continue // deleted with the server or the user
		}
		if err != nil {
			return err
		}
		err = c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			deleted, err := accounts.DeleteOne(tx, &rows[i])
			if err != nil || !deleted {
				return err
			}
			if err := c.Audit.Record(tx, *server.entry("disconnected", map[string]string{"issuer": rows[i].Issuer, "because": "the person is disabled"})); err != nil {
				return err
			}
			return notify.Touch(tx, id.Topic())
		})
		if err != nil {
			return err
		}
		c.cache.Forget(id)
		c.publish(ctx, id.Topic())
	}
	return nil
}
