package oauthserver

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Grant is a user's consent for a client, for display to the user.
type Grant struct {
	ID           string
	ClientName   string
	ClientHost   string // host of the client's metadata document; may be empty
	RedirectName string
	ProjectSlug  string
	ProjectName  string
	ToolsetName  string // empty for the whole project
	View         string // title of a view of the catalog; the project is empty
	Scopes       []string
	CreatedAt    time.Time
	LastUsedAt   time.Time
	ExpiresAt    time.Time
}

// Grants returns a user's live grants, newest first, at most MaxGrants for
// projects and as many for views.
func (s *Server) Grants(ctx context.Context, userID string) ([]Grant, error) {
	var rows []struct {
		models.OAuthGrant
		ClientName, ProjectSlug, ProjectName, ToolsetName string
		ClientKind                                        models.ClientKind
	}
	now := s.now()
	err := s.db.WithContext(ctx).Table("oauth_grants g").
		Select("g.id, g.client_id, g.redirect_name, g.scopes, g.created_at, g.last_used_at, g.expires_at, c.name AS client_name, c.kind AS client_kind, p.slug AS project_slug, p.name AS project_name, COALESCE(ts.name, '') AS toolset_name").
		Joins("JOIN oauth_clients c ON c.id = g.client_id").Joins("JOIN projects p ON p.id = g.project_id").Joins("LEFT JOIN toolsets ts ON ts.id = g.toolset_id").
		Where("g.user_id = ? AND g.revoked_at IS NULL AND g.expires_at > ? AND g.last_used_at > ?", userID, now, now.Add(-RefreshIdle)).
		Order("g.created_at DESC, g.id DESC").Limit(MaxGrants).Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	grants := make([]Grant, len(rows))
	for i, row := range rows {
		client := models.OAuthClient{ID: row.ClientID, Kind: row.ClientKind, Name: row.ClientName}
		grants[i] = Grant{
			ID: row.ID, ClientName: nameOf(&client), ClientHost: hostOf(&client), RedirectName: row.RedirectName, ProjectSlug: row.ProjectSlug, ProjectName: row.ProjectName, ToolsetName: row.ToolsetName,
			Scopes: scopeList(row.Scopes), CreatedAt: row.CreatedAt, LastUsedAt: row.LastUsedAt, ExpiresAt: earlier(row.ExpiresAt, row.LastUsedAt.Add(RefreshIdle)),
		}
	}
	views, err := s.viewGrants(ctx, userID)
	if err != nil {
		return nil, err
	}
	grants = append(grants, views...)
	slices.SortStableFunc(grants, func(a, b Grant) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return grants, nil
}

// RevokeGrant revokes a user's grant with all its tokens, immediately in this
// process and within 1 s on other replicas. It records oauth.grant_revoked. It
// returns NOT_FOUND for another user's grant and for an ended one.
func (s *Server) RevokeGrant(ctx context.Context, userID, grantID string) error {
	if found, err := s.ownViewToken(ctx, userID, grantID); err != nil || found {
		if err != nil {
			return err
		}
		return s.endViewToken(ctx, grantID, "oauth.grant_revoked", "revoked by the user")
	}
	var n int64
	err := s.db.WithContext(ctx).Model(&models.OAuthGrant{}).Where("id = ? AND user_id = ? AND revoked_at IS NULL", grantID, userID).Count(&n).Error
	if err != nil {
		return fault.Internal(err)
	}
	if n == 0 {
		return fault.New(fault.KindNotFound, fault.CodeNotFound, "This access has already ended.")
	}
	return s.end(ctx, grantID, "oauth.grant_revoked", "revoked by the user")
}

// Revoke revokes the grant of a client's token (RFC 7009) with all its tokens.
// For an unknown token or one of another client it does nothing and returns
// nil. It returns a Refusal if client authentication fails or the token is
// missing.
func (s *Server) Revoke(ctx context.Context, form url.Values, authorization string) error {
	for _, values := range form {
		if len(values) > 1 {
			return refuse(InvalidRequest, "repeated parameter")
		}
	}
	client, err := s.authenticateClient(ctx, form, authorization)
	if err != nil {
		return err
	}
	token := form.Get("token")
	if token == "" {
		return refuse(InvalidRequest, "token is missing")
	}
	secret, ok := parseSecret(refreshPrefix, token)
	if !ok {
		if secret, ok = parseSecret(accessPrefix, token); !ok {
			return nil
		}
	}
	var ids []string
	err = s.db.WithContext(ctx).Table("oauth_tokens t").Joins("JOIN oauth_grants g ON g.id = t.grant_id").
		Where("t.hash IN ? AND g.client_id = ? AND g.revoked_at IS NULL", secret.hashes(), client.ID).Pluck("g.id", &ids).Error
	if err != nil {
		return fault.Internal(err)
	}
	if len(ids) > 0 {
		return s.end(ctx, ids[0], "oauth.grant_revoked", "revoked by the client")
	}
	id, err := s.viewTokenOfClient(ctx, secret, client.ID)
	if err != nil || id == "" {
		return err
	}
	return s.endViewToken(ctx, id, "oauth.grant_revoked", "revoked by the client")
}

// end revokes a grant, records the action and publishes the change. It does
// nothing for an ended grant.
func (s *Server) end(ctx context.Context, grantID, action, reason string) error {
	// The revocation must complete even if the client disconnects.
	ctx = context.WithoutCancel(ctx)
	var topic notify.Topic
	err := models.EssentialTransaction(ctx, s.db, func(tx *gorm.DB) error {
		topic = ""
		var grant models.OAuthGrant
		err := tx.Raw(`UPDATE oauth_grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING *`, s.now(), grantID).Scan(&grant).Error
		if err != nil || grant.ID == "" {
			return err
		}
		var project models.Project
		if err := tx.Select("id", "slug").First(&project, "id = ?", grant.ProjectID).Error; err != nil {
			return err
		}
		client, _, err := storedClient(tx, grant.ClientID)
		if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
			return err
		}
		topic = notify.Grants(grant.ProjectID)
		err = s.audit.RecordAll(tx, []activity.Entry{{
			Action: action, Object: nameOf(&client), ObjectID: grant.ClientID, Project: project.Slug,
			Detail: map[string]string{"grant": grant.ID, "user": grant.UserID, "reason": reason},
		}})
		if err != nil {
			return err
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	if topic == "" {
		return nil
	}
	return s.feed.Publish(ctx, topic)
}
