package oauthserver

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// useInterval is the precision of the time at which a token for a view was last
// used.
const useInterval = time.Minute

// GatedView returns the gated view with the name. It returns NOT_FOUND for an
// unknown and for a public one.
func (s *Server) GatedView(ctx context.Context, name string) (models.CatalogView, error) {
	view, ok, err := gatedView(s.db.WithContext(ctx), "name", name)
	switch {
	case err != nil:
		return view, fault.Internal(err)
	case !ok:
		return view, fault.New(fault.KindNotFound, fault.CodeNotFound, "No gated view has this name.")
	}
	return view, nil
}

// AuthenticateView returns nil for an access token for the view whose user can
// sign in, and records its use. It returns the same UNAUTHORIZED for every other
// text, which it looks up only if it has the form of a token.
func (s *Server) AuthenticateView(ctx context.Context, viewID, token string) error {
	secret, ok := parseSecret(accessPrefix, token)
	if !ok {
		return fault.Unauthorized()
	}
	var rows []models.OAuthViewToken
	hash, now := scopedHash(secret.text), s.now()
	err := s.db.WithContext(ctx).Joins("JOIN users u ON u.id = oauth_view_tokens.user_id").
		Where("hash = ? AND view_id = ? AND revoked_at IS NULL AND expires_at > ? AND u.disabled_at IS NULL", hash[:], viewID, now).Limit(1).Find(&rows).Error
	switch {
	case err != nil:
		return fault.Internal(err)
	case len(rows) == 0:
		return fault.Unauthorized()
	}
	if used := rows[0].LastUsedAt; used == nil || now.Sub(*used) >= useInterval {
		// Without the time of its use the token still works, as on a full disk.
		_ = s.db.WithContext(ctx).Model(&models.OAuthViewToken{}).Where("id = ?", rows[0].ID).Update("last_used_at", now).Error
	}
	return nil
}

// viewGrants returns the user's usable tokens for views, newest first.
func (s *Server) viewGrants(ctx context.Context, userID string) ([]Grant, error) {
	var rows []struct {
		models.OAuthViewToken
		ClientName, ViewTitle string
		ClientKind            models.ClientKind
	}
	err := s.db.WithContext(ctx).Table("oauth_view_tokens t").
		Select("t.id, t.client_id, t.redirect_name, t.created_at, t.last_used_at, t.expires_at, c.name AS client_name, c.kind AS client_kind, v.title AS view_title").
		Joins("JOIN oauth_clients c ON c.id = t.client_id").Joins("JOIN catalog_views v ON v.id = t.view_id").
		Where("t.user_id = ? AND t.revoked_at IS NULL AND t.expires_at > ?", userID, s.now()).
		Order("t.created_at DESC, t.id DESC").Limit(MaxGrants).Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	grants := make([]Grant, len(rows))
	for i, row := range rows {
		client := models.OAuthClient{ID: row.ClientID, Kind: row.ClientKind, Name: row.ClientName}
		grants[i] = Grant{
			ID: row.ID, ClientName: nameOf(&client), ClientHost: hostOf(&client), RedirectName: row.RedirectName, View: row.ViewTitle,
			Scopes: []string{string(access.ScopeCatalog)}, CreatedAt: row.CreatedAt, LastUsedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt,
		}
		if row.LastUsedAt != nil {
			grants[i].LastUsedAt = *row.LastUsedAt
		}
	}
	return grants, nil
}

// ownViewToken returns whether the user has a usable token for a view with the
// ID.
func (s *Server) ownViewToken(ctx context.Context, userID, id string) (bool, error) {
	var n int64
	err := s.db.WithContext(ctx).Model(&models.OAuthViewToken{}).Where("id = ? AND user_id = ? AND revoked_at IS NULL", id, userID).Count(&n).Error
	if err != nil {
		return false, fault.Internal(err)
	}
	return n > 0, nil
}

// viewTokenOfClient returns the ID of a client's usable token for a view, or "".
func (s *Server) viewTokenOfClient(ctx context.Context, secret presented, clientID string) (string, error) {
	var ids []string
	hash := scopedHash(secret.text)
	err := s.db.WithContext(ctx).Model(&models.OAuthViewToken{}).Where("hash = ? AND client_id = ? AND revoked_at IS NULL", hash[:], clientID).Pluck("id", &ids).Error
	if err != nil {
		return "", fault.Internal(err)
	}
	if len(ids) == 0 {
		return "", nil
	}
	return ids[0], nil
}

// endViewToken revokes a token for a view on all replicas and records the
// action. It does nothing for a revoked one.
func (s *Server) endViewToken(ctx context.Context, id, action, reason string) error {
	// The revocation must complete even if the client disconnects.
	ctx = context.WithoutCancel(ctx)
	err := models.EssentialTransaction(ctx, s.db, func(tx *gorm.DB) error {
		var row models.OAuthViewToken
		err := tx.Raw(`UPDATE oauth_view_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING *`, s.now(), id).Scan(&row).Error
		if err != nil || row.ID == "" {
			return err
		}
		client, _, err := storedClient(tx, row.ClientID)
		if err != nil {
			return err
		}
		return s.audit.RecordAll(tx, []activity.Entry{{
			Action: action, Object: nameOf(&client), ObjectID: row.ClientID,
			Detail: map[string]string{"grant": row.ID, "user": row.UserID, "view": row.ViewID, "reason": reason},
		}})
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}
