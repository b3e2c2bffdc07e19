package oauthserver

import (
	"context"
	"net/url"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
)

// Tokens is the response of the token endpoint.
type Tokens struct {
	Access  secrets.Value
	Refresh secrets.Value // zero for views
	Expires time.Duration // of the access token
	Scopes  string        // separated by spaces
}

// Token handles a request to the token endpoint (OAuth 2.1, section 3.2) with
// the decoded form and the Authorization header. Errors of the client are a
// Refusal; other errors are faults. It returns RATE_LIMITED for a grant that is
// refreshed too often.
func (s *Server) Token(ctx context.Context, form url.Values, authorization string) (Tokens, error) {
	for _, values := range form {
		if len(values) > 1 {
			return Tokens{}, refuse(InvalidRequest, "repeated parameter")
		}
	}
	client, err := s.authenticateClient(ctx, form, authorization)
	if err != nil {
		return Tokens{}, err
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		return s.exchange(ctx, &client, form)
	case "refresh_token":
		return s.refresh(ctx, &client, form)
	case "":
		return Tokens{}, refuse(InvalidRequest, "grant_type is missing")
	default:
		return Tokens{}, refuse(UnsupportedGrantType, "grant_type must be authorization_code or refresh_token")
	}
}

// issue stores a new pair of tokens for the grant. The access token can have
// fewer scopes than the grant.
func (s *Server) issue(tx *gorm.DB, grant *models.OAuthGrant, scopes string, now time.Time) (Tokens, error) {
	access, accessHash := newSecret(accessPrefix, grant.ToolsetID)
	refresh, refreshHash := newSecret(refreshPrefix, grant.ToolsetID)
	accessEnd, refreshEnd := earlier(now.Add(AccessLife), grant.ExpiresAt), earlier(now.Add(RefreshIdle), grant.ExpiresAt)
	err := tx.Create([]models.OAuthToken{
		{Hash: accessHash, Kind: models.TokenAccess, GrantID: grant.ID, Scopes: scopes, CreatedAt: now, ExpiresAt: accessEnd},
		{Hash: refreshHash, Kind: models.TokenRefresh, GrantID: grant.ID, Scopes: grant.Scopes, CreatedAt: now, ExpiresAt: refreshEnd},
	}).Error
	return Tokens{Access: access, Refresh: refresh, Expires: accessEnd.Sub(now), Scopes: scopes}, err
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
