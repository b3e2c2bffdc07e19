package oauthserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// consentPurpose is the purpose of sealed authorization requests.
const consentPurpose = "oauth consent"

func (s *Server) seal(r *request) (string, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return "", fault.Internal(err)
	}
	return s.sealer.SealToken(consentPurpose, b), nil
}

// open returns the request of a consent page. It returns FORBIDDEN unless the
// page was created for this user and browser session and has not expired.
func (s *Server) open(sealed string, person User) (*request, error) {
	r := &request{}
	b, err := s.sealer.OpenToken(consentPurpose, sealed)
	if err != nil || json.Unmarshal(b, r) != nil {
		return nil, fault.Forbidden("Invalid form. Start again in the client.")
	}
	if person.ID == "" || person.SessionID == "" || r.Person != person.ID || r.Session != person.SessionID {
		return nil, fault.Forbidden("This form belongs to another user or browser session. Start again in the client.")
	}
	if !s.now().Before(time.UnixMilli(r.Expires)) {
		return nil, fault.Forbidden("This form has expired. Start again in the client.")
	}
	return r, nil
}

// Decide applies the user's decision on a consent page in the same browser
// session, and returns the redirect URL. projectID is the user's choice if the
// client requested no project. Consent is recorded as oauth.consented. It
// returns FORBIDDEN for another user or session, VALIDATION_FAILED (project) if
// no project was chosen, CONFLICT if the user authorized too many clients, and
// INVALID_PARAMETER if the client was deleted. Errors for the client are a
// Denial.
func (s *Server) Decide(ctx context.Context, person User, sealed, projectID string, allow bool) (string, error) {
	r, err := s.open(sealed, person)
	if err != nil {
		return "", err
	}
	redirect, err := parseRedirectURI(r.Redirect)
	if err != nil {
		return "", fault.Invalid("The redirect_uri is no longer valid. Start again in the client.")
	}
	if !allow {
		return "", s.deny(redirect, r, refuse(AccessDenied, "the user denied access"))
	}
	if r.Project == "" && r.View == "" {
		r.Project = projectID
	}
	if r.Project == "" && r.View == "" {
		return "", fault.Validation(map[string]string{"project": "Choose a project for the client."})
	}
	newCode := s.newCode
	if r.View != "" {
		newCode = s.newViewCode
	}
	code, err := newCode(ctx, r, redirect)
	if err != nil {
		return "", s.deny(redirect, r, err)
	}
	answer := s.responseParams(r)
	answer.Set("code", code)
	return redirect.with(answer), nil
}

// newCode stores the consent as a new code and returns the code.
func (s *Server) newCode(ctx context.Context, r *request, redirect redirectURI) (string, error) {
	text, hash := newSecret(codePrefix, r.Toolset)
	now := s.now()
	row := models.OAuthCode{
		Hash: hash, GrantID: uuid.Must(uuid.NewV7()).String(), ClientID: r.Client, UserID: r.Person, ProjectID: r.Project, ToolsetID: r.Toolset,
		RedirectURI: r.Redirect, RedirectName: redirect.name(), Challenge: r.Challenge, Scopes: r.Scopes, CreatedAt: now, ExpiresAt: now.Add(CodeLife),
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		client, ok, err := storedClient(tx, r.Client)
		if err != nil {
			return err
		}
		if !ok {
			return fault.Invalid("Unknown client. Reconnect from the client.")
		}
		project, ok, err := s.admitted(tx, r.Person, r.Project, r.Toolset)
		if err != nil {
			return err
		}
		if !ok {
			return refuse(AccessDenied, "the user cannot authorize clients for the project")
		}
		if err := s.checkGrantLimit(tx, r.Person); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
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
		entry.Project = project.Slug
		if project.Toolset.Slug != "" {
			entry.Detail["toolset"] = project.Toolset.Slug
		}
		entry.Detail["redirect"], entry.Detail["scopes"], entry.Detail["grant"] = row.RedirectName, row.Scopes, row.GrantID
		return s.audit.RecordAll(tx, append(entries, entry))
	})
	var refusal *ProtocolError
	switch {
	case errors.As(err, &refusal):
		return "", refusal
	case err != nil:
		return "", fault.From(err)
	}
	return text.Reveal(), nil
}

// admitted returns the project, with the toolset if its id is not empty, if the
// user can currently authorize clients for it.
func (s *Server) admitted(tx *gorm.DB, userID, projectID, toolsetID string) (project Project, ok bool, err error) {
	var rows []models.Project
	if err := tx.Limit(1).Find(&rows, "id = ? AND auth_mode = ?", projectID, models.AuthOAuth).Error; err != nil || len(rows) == 0 {
		return Project{}, false, err
	}
	project, held := Project{ID: rows[0].ID, Slug: rows[0].Slug, Name: rows[0].Name}, s.rights.Held(&rows[0], userID)
	if toolsetID == "" {
		return project, !held.None(), nil
	}
	var toolsets []models.Toolset
	err = tx.Limit(1).Find(&toolsets, "id = ? AND project_id = ?", toolsetID, projectID).Error
	if err != nil || len(toolsets) == 0 || !held.Has(toolsetID) {
		return Project{}, false, err
	}
	project.Toolset = Toolset{ID: toolsets[0].ID, Slug: toolsets[0].Slug, Name: toolsets[0].Name}
	return project, true, nil
}

// checkGrantLimit returns CONFLICT if the user has authorized the maximum number of
// clients.
func (s *Server) checkGrantLimit(tx *gorm.DB, userID string) error {
	var n int64
	now := s.now()
	err := tx.Model(&models.OAuthGrant{}).
		Where("user_id = ? AND revoked_at IS NULL AND expires_at > ? AND last_used_at > ?", userID, now, now.Add(-RefreshIdle)).Count(&n).Error
	if err != nil {
		return err
	}
	if n >= MaxGrants {
		return fault.Conflict("You've authorized the maximum of %d clients. Revoke one first.", n)
	}
	return nil
}

// scopeList returns the scopes to display.
func scopeList(scopes string) []string {
	return slices.DeleteFunc(strings.Fields(scopes), func(scope string) bool { return scope == scopeOffline })
}
