package oauthserver

import (
	"context"
	"net/url"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// refresh returns a new pair for a refresh token (OAuth 2.1, section 4.3). The
// first use consumes the token. Reuse within RotationGrace returns another
// pair, because clients can send concurrent requests or lose a response. Later
// reuse indicates theft, so the grant is revoked.
func (s *Server) refresh(ctx context.Context, client *models.OAuthClient, form url.Values) (Tokens, error) {
	bad := refuse(InvalidGrant, "the refresh token is invalid or expired")
	secret, ok := parseSecret(refreshPrefix, form.Get("refresh_token"))
	if !ok {
		return Tokens{}, bad
	}
	wanted, err := s.targetOf(form.Get("resource"))
	if err != nil {
		return Tokens{}, err
	}
	grantID, hash, err := s.grantOfClient(ctx, secret, client.ID)
	if err != nil {
		return Tokens{}, err
	}
	if grantID == "" {
		return Tokens{}, bad
	}
	if err := s.count(ctx, "refresh:"+grantID, RefreshesPerHour); err != nil {
		return Tokens{}, err
	}
	var tokens Tokens
	reused := false
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		now := s.now()
		var err error
		var token models.OAuthToken
		if token, reused, err = consume(tx, hash, now); err != nil {
			return err
		}
		if token.Hash == nil {
			return bad
		}
		grant, err := renew(tx, token.GrantID, now)
		if err != nil {
			return err
		}
		if grant.ID == "" {
			return bad
		}
		if err := s.checkTarget(tx, grant.UserID, grant.ProjectID, grant.ToolsetID, wanted); err != nil {
			return err
		}
		scopes, err := narrowScopes(grant.Scopes, form.Get("scope"))
		if err != nil {
			return err
		}
		if err := touch(tx, client.ID, now); err != nil {
			return err
		}
		tokens, err = s.issue(tx, &grant, scopes, now)
		return err
	})
	if reused {
		if err := s.end(ctx, grantID, "oauth.refresh_replayed", "a consumed refresh token was used again"); err != nil {
			return Tokens{}, err
		}
	}
	return tokens, problem(err)
}

// grantOfClient returns the grant of a refresh token and the token's stored hash,
// or "" for a token of another client.
func (s *Server) grantOfClient(ctx context.Context, secret presented, clientID string) (grantID string, hash []byte, err error) {
	var rows []struct {
		ID   string
		Hash []byte
	}
	err = s.db.WithContext(ctx).Table("oauth_tokens t").Select("g.id, t.hash").Joins("JOIN oauth_grants g ON g.id = t.grant_id").
		Where("t.hash IN ? AND t.kind = ? AND g.client_id = ?", secret.hashes(), models.TokenRefresh, clientID).Scan(&rows).Error
	if err != nil {
		return "", nil, fault.Internal(err)
	}
	if len(rows) == 0 {
		return "", nil, nil
	}
	return rows[0].ID, rows[0].Hash, nil
}

// consume consumes a refresh token and returns it. Its hash is nil if the token
// is invalid. reused reports whether it was consumed too long ago. A single
// statement decides between concurrent uses.
func consume(tx *gorm.DB, hash []byte, now time.Time) (token models.OAuthToken, reused bool, err error) {
	err = tx.Raw(`UPDATE oauth_tokens SET used_at = ? WHERE hash = ? AND kind = ? AND used_at IS NULL AND expires_at > ? RETURNING *`,
		now, hash, models.TokenRefresh, now).Scan(&token).Error
	if err != nil || token.Hash != nil {
		return token, false, err
	}
	// The database compares the times in stored precision.
	var found []struct {
		models.OAuthToken
		Recent bool
	}
	err = tx.Raw(`SELECT *, used_at > ? AS recent FROM oauth_tokens WHERE hash = ? AND kind = ? AND used_at IS NOT NULL AND expires_at > ?`,
		now.Add(-RotationGrace), hash, models.TokenRefresh, now).Scan(&found).Error
	switch {
	case err != nil || len(found) == 0:
		return models.OAuthToken{}, false, err
	case !found[0].Recent:
		return models.OAuthToken{}, true, nil
	default:
		return found[0].OAuthToken, false, nil
	}
}

// renew records the use of a grant and returns it. Its id is empty if the grant
// has ended. The grant stays locked until the transaction ends.
func renew(tx *gorm.DB, id string, now time.Time) (models.OAuthGrant, error) {
	var grant models.OAuthGrant
	err := tx.Raw(`UPDATE oauth_grants SET last_used_at = ? WHERE id = ? AND revoked_at IS NULL AND expires_at > ? RETURNING *`, now, id, now).Scan(&grant).Error
	return grant, err
}

// touch records the use of a client at most once an hour, because many users of
// a client would contend for the row.
func touch(tx *gorm.DB, clientID string, now time.Time) error {
	return tx.Model(&models.OAuthClient{}).Where("id = ? AND (last_used_at IS NULL OR last_used_at < ?)", clientID, now.Add(-time.Hour)).
		Update("last_used_at", now).Error
}
