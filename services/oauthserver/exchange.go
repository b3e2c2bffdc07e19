package oauthserver

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Limits of a PKCE verifier (RFC 7636, section 4.1).
const (
	minVerifier = 43
	maxVerifier = 128
)

// exchange returns the first tokens of a grant for a code (OAuth 2.1, section
// 4.1.3). A code is valid once, for its client, redirect URI, resource and
// verifier. A second use revokes the grant and is recorded as
// oauth.code_replayed.
func (s *Server) exchange(ctx context.Context, client *models.OAuthClient, form url.Values) (Tokens, error) {
	bad := refuse(InvalidGrant, "the code is invalid or expired")
	secret, ok := parseSecret(codePrefix, form.Get("code"))
	sealed, isView := strings.CutPrefix(form.Get("code"), viewCodePrefix)
	if !ok && !isView {
		return Tokens{}, bad
	}
	verifier := form.Get("code_verifier")
	if len(verifier) < minVerifier || len(verifier) > maxVerifier || !isUnreserved(verifier) {
		return Tokens{}, refuse(InvalidGrant, "code_verifier must have 43 to 128 characters allowed by PKCE")
	}
	wanted, err := s.targetOf(form.Get("resource"))
	if err != nil {
		return Tokens{}, err
	}
	if isView {
		return s.exchangeView(ctx, client, form, sealed, wanted)
	}
	var tokens Tokens
	var replayed *models.OAuthCode
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		replayed = nil
		var code models.OAuthCode
		err := tx.Clauses(models.LockRow(tx)...).First(&code, "hash IN ?", secret.hashes()).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return bad
		}
		if err != nil {
			return err
		}
		if code.UsedAt != nil {
			replayed = &code
			return bad
		}
		now := s.now()
		if !now.Before(code.ExpiresAt) || code.ClientID != client.ID || form.Has("redirect_uri") && form.Get("redirect_uri") != code.RedirectURI ||
			subtle.ConstantTimeCompare([]byte(challengeOf(verifier)), []byte(code.Challenge)) != 1 {
			return bad
		}
		if err := s.checkTarget(tx, code.UserID, code.ProjectID, code.ToolsetID, wanted); err != nil {
			return err
		}
		if err := tx.Model(&code).Update("used_at", now).Error; err != nil {
			return err
		}
		grant := models.OAuthGrant{
			ID: code.GrantID, ClientID: client.ID, UserID: code.UserID, ProjectID: code.ProjectID, ToolsetID: code.ToolsetID, Scopes: code.Scopes,
			RedirectName: code.RedirectName, CreatedAt: now, LastUsedAt: now, ExpiresAt: now.Add(GrantLife),
		}
		if err := tx.Create(&grant).Error; err != nil {
			return err
		}
		tokens, err = s.issue(tx, &grant, grant.Scopes, now)
		return err
	})
	if replayed != nil {
		if err := s.end(ctx, replayed.GrantID, "oauth.code_replayed", "an authorization code was used twice"); err != nil {
			return Tokens{}, err
		}
	}
	return tokens, problem(err)
}

// checkTarget returns invalid_target if the request is for another endpoint than
// the grant, and invalid_grant if the user can no longer authorize clients for
// it.
func (s *Server) checkTarget(tx *gorm.DB, userID, projectID, toolsetID string, wanted target) error {
	project, ok, err := s.admitted(tx, userID, projectID, toolsetID)
	switch {
	case err != nil:
		return err
	case !ok:
		return refuse(InvalidGrant, "the user can no longer authorize clients for the project")
	case wanted != target{} && wanted != target{project: project.Slug, toolset: project.Toolset.Slug}:
		return refuse(InvalidTarget, "the grant is for another resource")
	}
	return nil
}

// problem returns err if it is a Refusal, and otherwise a fault.
func problem(err error) error {
	var refusal *ProtocolError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return refusal
	default:
		return fault.From(err)
	}
}
