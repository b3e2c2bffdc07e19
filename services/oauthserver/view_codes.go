package oauthserver

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// Codes for views of the catalog are sealed and not stored. The token that a
// code is exchanged for has the ID in the code, so a code works once.
const (
	viewCodePrefix  = "gwvc_"
	viewCodePurpose = "oauth view code"
)

// viewCode is the content of a code.
type viewCode struct {
	ID           string `json:"i"` // of the token
	Client       string `json:"c"`
	Redirect     string `json:"r"`
	RedirectName string `json:"n"`
	Challenge    string `json:"p"`
	View         string `json:"v"` // id
	Person       string `json:"u"`
	Expires      int64  `json:"e"` // Unix milliseconds
}

// completeView completes the request of a token for a gated view. It returns
// invalid_target for another view and invalid_scope if the requested scopes lack
// catalog:read.
func (s *Server) completeView(ctx context.Context, r *request, scope, name string) (found offered, err error) {
	view, ok, err := gatedView(s.db.WithContext(ctx), "name", name)
	switch {
	case err != nil:
		return found, fault.Internal(err)
	case !ok:
		return found, refuse(InvalidTarget, "the resource is not a gated view")
	}
	requested := slices.DeleteFunc(strings.Fields(scope), func(s string) bool { return s == scopeOffline })
	if len(scope) > MaxScope || len(requested) > 0 && !slices.Contains(requested, string(access.ScopeCatalog)) {
		return found, refuse(InvalidScope, "the scope of a view is "+string(access.ScopeCatalog))
	}
	r.View, r.Scopes, found.view = view.ID, string(access.ScopeCatalog), view.Title
	return found, nil
}

// gatedView returns the gated view with a value in a column.
func gatedView(tx *gorm.DB, column, value string) (view models.CatalogView, ok bool, err error) {
	var rows []models.CatalogView
	err = tx.Limit(1).Where(column+" = ? AND gated", value).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return view, false, err
	}
	return rows[0], true, nil
}

// newViewCode records the consent for a view as oauth.consented and returns the
// code.
func (s *Server) newViewCode(ctx context.Context, r *request, redirect redirectURI) (string, error) {
	now := s.now()
	code := viewCode{
		ID: uuid.Must(uuid.NewV7()).String(), Client: r.Client, Redirect: r.Redirect, RedirectName: redirect.name(), Challenge: r.Challenge, View: r.View,
		Person: r.Person, Expires: now.Add(CodeLife).UnixMilli(),
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		client, ok, err := storedClient(tx, r.Client)
		if err != nil {
			return err
		}
		if !ok {
			return fault.Invalid("Unknown client. Reconnect from the client.")
		}
		view, ok, err := gatedView(tx, "id", r.View)
		if err != nil {
			return err
		}
		if !ok {
			return refuse(AccessDenied, "the view is no longer gated")
		}
		if err := s.checkViewTokenLimit(tx, r.Person); err != nil {
			return err
		}
		if err := touch(tx, client.ID, now); err != nil {
			return err
		}
		var entries []activity.Entry
		if client.LastUsedAt == nil && client.Kind == models.ClientRegistered {
			entries = append(entries, clientEntry("client.registered", &client))
		}
		entry := clientEntry("oauth.consented", &client)
		entry.Detail["view"], entry.Detail["redirect"], entry.Detail["scopes"], entry.Detail["grant"] = view.Name, code.RedirectName, r.Scopes, code.ID
		return s.audit.RecordAll(tx, append(entries, entry))
	})
	if err != nil {
		return "", problem(err)
	}
	b, err := json.Marshal(code)
	if err != nil {
		return "", fault.Internal(err)
	}
	return viewCodePrefix + s.sealer.SealToken(viewCodePurpose, b), nil
}

// checkViewTokenLimit returns CONFLICT if the user has the maximum number of
// tokens for views.
func (s *Server) checkViewTokenLimit(tx *gorm.DB, userID string) error {
	var n int64
	err := tx.Model(&models.OAuthViewToken{}).Where("user_id = ? AND revoked_at IS NULL AND expires_at > ?", userID, s.now()).Count(&n).Error
	if err != nil {
		return err
	}
	if n >= MaxGrants {
		return fault.Conflict("You've authorized the maximum of %d clients for views of the catalog. Remove one first.", n)
	}
	return nil
}

// exchangeView returns the token for a code (OAuth 2.1, section 4.1.3). A second
// use of the code revokes the token and is recorded as oauth.code_replayed.
// There is no refresh token.
func (s *Server) exchangeView(ctx context.Context, client *models.OAuthClient, form url.Values, sealed string, wanted target) (Tokens, error) {
	bad := refuse(InvalidGrant, "the code is invalid or expired")
	var code viewCode
	b, err := s.sealer.OpenToken(viewCodePurpose, sealed)
	if err != nil || json.Unmarshal(b, &code) != nil {
		return Tokens{}, bad
	}
	now := s.now()
	if !now.Before(time.UnixMilli(code.Expires)) || code.Client != client.ID || form.Has("redirect_uri") && form.Get("redirect_uri") != code.Redirect ||
		subtle.ConstantTimeCompare([]byte(challengeOf(form.Get("code_verifier"))), []byte(code.Challenge)) != 1 {
		return Tokens{}, bad
	}
	text, hash := newSecret(accessPrefix, code.View)
	row := models.OAuthViewToken{
		ID: code.ID, Hash: hash, ClientID: client.ID, UserID: code.Person, ViewID: code.View, RedirectName: code.RedirectName, CreatedAt: now, ExpiresAt: now.Add(ViewTokenLife),
	}
	replayed := false
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		view, ok, err := gatedView(tx, "id", code.View)
		switch {
		case err != nil:
			return err
		case !ok:
			return bad
		case wanted != target{} && wanted.view != view.Name:
			return refuse(InvalidTarget, "the code is for another resource")
		}
		var users []models.User
		if err := tx.Clauses(models.LockRow(tx)...).Select("id").Limit(1).Find(&users, "id = ? AND disabled_at IS NULL", code.Person).Error; err != nil {
			return err
		}
		if len(users) == 0 {
			return refuse(InvalidGrant, "the user can no longer authorize clients")
		}
		var used int64
		if err := tx.Model(&models.OAuthViewToken{}).Where("id = ?", code.ID).Count(&used).Error; err != nil {
			return err
		}
		if replayed = used > 0; replayed {
			return bad
		}
		return tx.Create(&row).Error
	})
	if replayed {
		if err := s.endViewToken(ctx, code.ID, "oauth.code_replayed", "an authorization code was used twice"); err != nil {
			return Tokens{}, err
		}
	}
	if err != nil {
		return Tokens{}, problem(err)
	}
	return Tokens{Access: text, Expires: ViewTokenLife, Scopes: string(access.ScopeCatalog)}, nil
}
