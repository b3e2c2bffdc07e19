package oauthclient

import (
	"context"
	"errors"
	"maps"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/upstream"
)

// account is an account at a server: the one that all users share, or a user's
// own.
type account struct {
	models.Server
	userID string // empty for the shared one
}

func (a *account) id() accounts.ID { return accounts.ID{ServerID: a.ID, UserID: a.userID} }

// reconnect returns the sentence that ends the texts of failures that require a
// new authorization.
func (a *account) reconnect() string {
	if a.userID != "" {
		return " Connect it again."
	}
	return " An administrator must reconnect it."
}

// fault returns the fault of a failure for callers. A user who must connect
// their own account gets CONNECTION_REQUIRED.
func (a *account) fault(f *failure) *fault.Fault {
	if a.userID != "" && (f.state == NotConnected || f.state.NeedsAuthorization()) {
		return upstream.ConnectionRequired(a.Alias, f.reason()).Because(f.cause)
	}
	return f.asFault(a.Alias)
}

// subject is an account with what its audit entries name.
type subject struct {
	account
	project string // slug
	person  string // address or name; empty for the shared account
}

// entry returns an audit entry about the connection.
func (s *subject) entry(action string, detail map[string]string) *activity.Entry {
	if s.userID != "" {
		detail = maps.Clone(detail)
		if detail == nil {
			detail = map[string]string{}
		}
		detail["person"], detail["personId"] = s.person, s.userID
	}
	return &activity.Entry{Action: "connection." + action, Object: s.Alias, ObjectID: s.ID, Project: s.project, Detail: detail}
}

// topics returns the topics that a connected or disconnected account changes,
// besides its own.
func (s *subject) topics() []notify.Topic {
	if s.userID != "" {
		return nil
	}
	return []notify.Topic{notify.Toolset(s.ProjectID)}
}

// restart deletes the open authorizations of an account that was connected or
// disconnected. For the shared one it also ends the upstream sessions and
// triggers a sync, because it may be another account than before.
func (s *subject) restart(tx *gorm.DB) error {
	if s.userID == "" {
		err := tx.Model(&models.Server{}).Where("id = ?", s.ID).UpdateColumn("config_version", gorm.Expr("config_version + 1")).Error
		if err != nil {
			return err
		}
	}
	return tx.Delete(&models.ConnectionFlow{}, "server_id = ? AND user_id = ?", s.ID, s.userID).Error
}

// subject returns an account with its names, or NOT_FOUND.
func (c *Connections) subject(ctx context.Context, id accounts.ID) (*subject, error) {
	s := &subject{account: account{userID: id.UserID}}
	db := c.DB.WithContext(ctx)
	err := db.First(&s.Server, "id = ?", id.ServerID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, fault.NotFound("server", id.ServerID)
	}
	if err == nil {
		err = db.Model(&models.Project{}).Where("id = ?", s.ProjectID).Pluck("slug", &s.project).Error
	}
	if err == nil && id.IsPersonal() {
		var user models.User
		err = db.Select("email", "name").First(&user, "id = ?", id.UserID).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return nil, fault.NotFound("person", id.UserID)
		}
		if s.person = user.Email; s.person == "" {
			s.person = user.Name
		}
	}
	if err != nil {
		return nil, fault.Internal(err)
	}
	return s, nil
}

// oauthSubject is like subject. It returns CONFLICT if the server doesn't use
// OAuth or doesn't have such an account.
func (c *Connections) oauthSubject(ctx context.Context, id accounts.ID) (*subject, error) {
	s, err := c.subject(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.checkOAuth(); err != nil {
		return nil, err
	}
	return s, s.check()
}

// checkOAuth returns CONFLICT for a server that doesn't use OAuth.
func (a *account) checkOAuth() error {
	if a.AuthType != models.UpstreamAuthOAuth {
		return fault.Conflict("Server %s has authType %s. Set it to oauth first.", a.Alias, a.AuthType)
	}
	return nil
}

// check returns CONFLICT for an account of another connection mode than the
// server's.
func (a *account) check() error {
	switch {
	case a.IsPersonal() && a.userID == "":
		return fault.Conflict("At server %s every user connects their own account.", a.Alias)
	case !a.IsPersonal() && a.userID != "":
		return fault.Conflict("Server %s has one account for all users. An administrator connects it.", a.Alias)
	}
	return nil
}

// load reads the stored connection of an account.
func (c *Connections) load(ctx context.Context, id accounts.ID) (models.PersonalConnection, bool, error) {
	row, found, err := accounts.Load(c.DB.WithContext(ctx), id)
	if !found && err == nil {
		row.State = string(NotConnected)
	}
	if err != nil {
		err = fault.Internal(err)
	}
	return row, found, err
}
