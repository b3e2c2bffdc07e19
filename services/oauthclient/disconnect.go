package oauthclient

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient/authserver"
)

// Disconnect deletes the tokens of a server, ends its upstream sessions and
// records connection.disconnected. Then it requests revocation of the tokens
// (RFC 7009) for at most 10 seconds and reports whether it succeeded. The
// registration stays. Without a connection, it does nothing. It returns
// NOT_FOUND for an unknown server.
func (c *Connections) Disconnect(ctx context.Context, serverID string) (revoked bool, err error) {
	server, err := c.server(ctx, serverID)
	if err != nil {
		return false, err
	}
	var old models.Connection
	var found bool
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	err = retryWrite(ctx, func() (err error) {
		if old, found, err = row(c.DB.WithContext(ctx), serverID); err != nil || !found {
			return err
		}
		next := models.Connection{ServerID: serverID, State: string(NotConnected), ServerURL: old.ServerURL, Version: old.Version, CreatedAt: old.CreatedAt}
		return models.Essential(c.DB, func() error {
			return c.save(ctx, &next, change{
				entry:  server.entry("disconnected", map[string]string{"issuer": old.Issuer}),
				topics: []notify.Topic{notify.Toolset(server.ProjectID)},
				also: func(tx *gorm.DB) error {
					if err := renewSessions(tx, serverID); err != nil {
						return err
					}
					return tx.Delete(&models.ConnectionFlow{}, "server_id = ?", serverID).Error
				},
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
func (c *Connections) revokeAll(ctx context.Context, server *subject, old *models.Connection) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	client := func() (authserver.Credentials, error) {
		if hasOwnClient(&server.Server) {
			return c.ownClient(&server.Server, old)
		}
		return c.clientOf(ctx, server.Server, Kind(old.RegistrationKind), old.RegistrationID, old.ClientID, old.AuthMethod)
	}
	self, err := client()
	if err != nil {
		return err
	}
	var failures []error
	for _, sealed := range []struct{ token, row, hint string }{
		{old.RefreshToken, RefreshTokenRow(old.ServerID), "refresh_token"},
		{old.AccessToken, AccessTokenRow(old.ServerID), "access_token"},
	} {
		token, err := c.open(sealed.token, sealed.row)
		if err == nil && !token.IsZero() {
			err = c.at(&server.Server).Revoke(ctx, old.RevocationEndpoint, self, token, sealed.hint)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
