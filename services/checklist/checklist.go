// Package checklist derives the steps of a project's setup from its data: a
// server, a tried tool, access for clients, a connected client and its first
// call. Nothing is stored for it.
package checklist

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
)

// Store reads the setup of projects. It is safe for concurrent use.
type Store struct {
	db  *gorm.DB
	now func() time.Time
}

// New returns a Store of the database.
func New(db *gorm.DB, now func() time.Time) *Store { return &Store{db: db, now: now} }

// Kind is a step of the setup.
type Kind string

// The steps, in order. Projects with API keys have StepKey, those with sign-in
// StepSignIn, and open ones neither.
const (
	StepServer  Kind = "server"
	StepTry     Kind = "try"
	StepKey     Kind = "key"
	StepSignIn  Kind = "sign-in"
	StepConnect Kind = "connect"
	StepCall    Kind = "call"
)

// Step is a step and whether it is done.
type Step struct {
	Kind Kind
	Done bool
}

// Progress is the state of a project's setup.
type Progress struct {
	Steps []Step

	Tried   *models.Call // the latest successful call from the Playground; nil if a client called already
	Key     string       // name of the newest usable key
	Members int          // users who can sign in, if only members can
	Tool    string       // full name of the first tool to try, or empty
}

// Finished reports whether every step is done.
func (p *Progress) Finished() bool {
	for _, s := range p.Steps {
		if !s.Done {
			return false
		}
	}
	return true
}

// Called reports whether a client has called a tool.
func (p *Progress) Called() bool { return p.Steps[len(p.Steps)-1].Done }

// facts are the states behind the steps. A client's call implies all but the
// servers.
type facts struct {
	called, connected, access bool
}

// Of returns the setup of a project.
func (s *Store) Of(ctx context.Context, project *toolset.Snapshot) (*Progress, error) {
	p, found := &Progress{}, facts{}
	if len(project.Tools) > 0 {
		p.Tool = project.Tools[0].FullName
	}
	db := s.db.WithContext(ctx)
	for _, read := range []func(*gorm.DB, *models.Project, *Progress, *facts) error{s.calls, s.grants, s.keys, s.members, s.tried} {
		if err := read(db, &project.Project, p, &found); err != nil {
			return nil, fault.Internal(err)
		}
	}
	// The calls of older projects may be gone from the log.
	if found.connected && s.now().Sub(project.Project.CreatedAt) > time.Duration(project.Project.RetentionCalls)*24*time.Hour {
		found.called = true
	}
	p.Steps = steps(project.Project.AuthMode, len(project.Servers) > 0, p.Tried != nil, found)
	return p, nil
}

func steps(mode models.AuthMode, servers, tried bool, found facts) []Step {
	connected := found.connected || found.called
	list := []Step{{StepServer, servers}, {StepTry, tried || found.called}}
	switch mode {
	case models.AuthAPIKey:
		list = append(list, Step{StepKey, found.access || connected})
	case models.AuthOAuth:
		list = append(list, Step{StepSignIn, found.access || connected})
	}
	return append(list, Step{StepConnect, connected}, Step{StepCall, found.called})
}

// Calls from the Playground have the principal of a user, like those of a user's
// client.
const userPrincipals = "user:%"

// calls looks for a call of a client with a key or without authentication.
func (s *Store) calls(db *gorm.DB, project *models.Project, _ *Progress, found *facts) error {
	n, err := exists(db.Model(&models.Call{}).Where("project_id = ? AND principal NOT LIKE ?", project.ID, userPrincipals))
	found.called = found.called || n
	return err
}

// grants looks for clients of users, and for a call of one.
func (s *Store) grants(db *gorm.DB, project *models.Project, _ *Progress, found *facts) error {
	granted, err := exists(db.Model(&models.OAuthGrant{}).Where("project_id = ?", project.ID))
	if err != nil || !granted {
		return err
	}
	found.connected = true
	called, err := exists(db.Table("calls AS c").Joins("JOIN oauth_grants g ON g.project_id = c.project_id AND c.principal = 'user:' || g.user_id AND c.at >= g.created_at").
		Where("c.project_id = ?", project.ID))
	found.called = found.called || called
	return err
}

// keys looks for usable and used keys.
func (s *Store) keys(db *gorm.DB, project *models.Project, p *Progress, found *facts) error {
	var rows []models.Key
	if err := db.Order("created_at DESC, id DESC").Find(&rows, "project_id = ?", project.ID).Error; err != nil {
		return err
	}
	now := s.now()
	for _, key := range rows {
		found.connected = found.connected || key.LastUsedAt != nil
		usable := key.RevokedAt == nil && (key.ExpiresAt == nil || key.ExpiresAt.After(now))
		if usable && !found.access {
			p.Key = key.Name
			found.access = project.AuthMode == models.AuthAPIKey
		}
	}
	return nil
}

// members looks for users who can sign in.
func (s *Store) members(db *gorm.DB, project *models.Project, p *Progress, found *facts) error {
	if project.AuthMode != models.AuthOAuth {
		return nil
	}
	if project.OAuthAccess != models.OAuthMembers {
		found.access = true
		return nil
	}
	var n int64
	err := db.Model(&models.ProjectMember{}).Where("project_id = ?", project.ID).Count(&n).Error
	p.Members, found.access = int(n), n > 0
	return err
}

// tried looks for the latest call from the Playground.
func (s *Store) tried(db *gorm.DB, project *models.Project, p *Progress, found *facts) error {
	if found.called {
		return nil
	}
	var call models.Call
	err := db.Order("id DESC").Take(&call, "project_id = ? AND principal LIKE ? AND outcome = ?", project.ID, userPrincipals, models.CallOK).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil
	}
	p.Tried = &call
	return err
}

func exists(query *gorm.DB) (bool, error) {
	var one []int
	err := query.Select("1").Limit(1).Find(&one).Error
	return len(one) > 0, err
}
