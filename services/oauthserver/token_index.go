package oauthserver

import (
	"context"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// TokenIndex checks access tokens from memory. A token is read from the
// database when it is first seen here, so that one that another replica has
// just issued works at once, and kept until it expires or something about its
// project's grants or about people changes.
type TokenIndex struct {
	db  *gorm.DB
	now func() time.Time

	reading chan struct{} // a token for each read of the database

	mu      sync.RWMutex
	known   map[tokenHash]*knownToken
	refused map[tokenHash]time.Time // until when a token is not looked up again
	changes uint64                  // that emptied something; a read that began before the last is not kept
}

// knownToken is a token that was good when it was read.
type knownToken struct {
	holder    access.TokenHolder
	projectID string
	rule      models.OAuthAccess // of the project, under which the person was admitted
	expiresAt time.Time
}

// NewTokenIndex returns an empty index over the database.
func NewTokenIndex(db *gorm.DB, now func() time.Time) *TokenIndex {
	return &TokenIndex{
		db: db, now: now, reading: make(chan struct{}, lookups),
		known: map[tokenHash]*knownToken{}, refused: map[tokenHash]time.Time{},
	}
}

// Find returns whom the access token speaks for in the project; ok is false
// for every token that opens nothing there. It reads the database only for a
// token that it does not know, and returns UNAVAILABLE when too many of those
// are being read, and the database's failure.
func (x *TokenIndex) Find(ctx context.Context, project *models.Project, token string) (access.TokenHolder, bool, error) {
	hash, ok := parseSecret(accessPrefix, token)
	if !ok {
		return access.TokenHolder{}, false, nil
	}
	t, refused := x.look(hash, project)
	if t == nil && !refused {
		var err error
		if t, err = x.read(ctx, hash, project); err != nil {
			return access.TokenHolder{}, false, err
		}
	}
	if t == nil || t.projectID != project.ID || !x.now().Before(t.expiresAt) {
		return access.TokenHolder{}, false, nil
	}
	return t.holder, true, nil
}

// look returns what is known of a token under the project's present rule.
func (x *TokenIndex) look(hash tokenHash, project *models.Project) (known *knownToken, refused bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if until, ok := x.refused[hash]; ok && x.now().Before(until) {
		return nil, true
	}
	t := x.known[hash]
	if t != nil && t.projectID == project.ID && t.rule != project.OAuthAccess {
		return nil, false
	}
	return t, false
}

// read reads a token from the database and keeps what it learns.
func (x *TokenIndex) read(ctx context.Context, hash tokenHash, project *models.Project) (*knownToken, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupWait)
	defer cancel()
	select {
	case x.reading <- struct{}{}:
		defer func() { <-x.reading }()
	case <-ctx.Done():
		f := fault.New(fault.KindUnavailable, fault.CodeUnavailable, "too many new tokens are being checked: try again in a moment")
		f.RetryAfter = time.Second
		return nil, f.Because(ctx.Err())
	}
	// The one before may have brought this very token.
	if t, refused := x.look(hash, project); t != nil || refused {
		return t, nil
	}
	x.mu.RLock()
	changes := x.changes
	x.mu.RUnlock()
	var rows []struct {
		UserID, ProjectID, Scopes string
		OAuthAccess               models.OAuthAccess `gorm:"column:oauth_access"`
		ExpiresAt                 time.Time
	}
	now := x.now()
	err := x.db.WithContext(ctx).Table("oauth_tokens t").
		Select("g.user_id, g.project_id, t.scopes, p.oauth_access, t.expires_at").
		Joins("JOIN oauth_grants g ON g.id = t.grant_id").
		Joins("JOIN users u ON u.id = g.user_id").Joins("JOIN projects p ON p.id = g.project_id").
		Where("t.hash = ? AND t.kind = ? AND t.expires_at > ? AND g.revoked_at IS NULL AND g.expires_at > ?", hash[:], models.TokenAccess, now, now).
		Where(admits).Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	if len(rows) == 0 {
		x.keep(changes, func() {
			makeRoom(x.refused, maxRefused, func(until time.Time) bool { return !now.Before(until) })
			x.refused[hash] = now.Add(refusedLife)
		})
		return nil, nil
	}
	row := rows[0]
	t := &knownToken{projectID: row.ProjectID, rule: row.OAuthAccess, expiresAt: row.ExpiresAt, holder: access.TokenHolder{UserID: row.UserID}}
	for scope := range strings.FieldsSeq(row.Scopes) {
		t.holder.Scopes = append(t.holder.Scopes, access.Scope(scope))
	}
	x.keep(changes, func() {
		makeRoom(x.known, maxCached, func(t *knownToken) bool { return !now.Before(t.expiresAt) })
		x.known[hash] = t
	})
	return t, nil
}

// keep runs store unless something changed since the count was taken: what was
// read before a revocation must not outlive it.
func (x *TokenIndex) keep(changes uint64, store func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changes == changes {
		store()
	}
}

// makeRoom makes a full map smaller: by what has ended, or by a part of it.
func makeRoom[V any](m map[tokenHash]V, limit int, ended func(V) bool) {
	if len(m) < limit {
		return
	}
	for hash, v := range m {
		if ended(v) {
			delete(m, hash)
		}
	}
	spare := len(m) - limit + limit/10 + 1
	for hash := range m {
		if spare <= 0 {
			return
		}
		delete(m, hash)
		spare--
	}
}

// Changed forgets the tokens that a change may have ended: those of a grants
// topic's project, and all when people changed. They are read again when they
// are next used. Other topics are ignored.
func (x *TokenIndex) Changed(_ context.Context, topic notify.Topic) error {
	projectID, ok := topic.GrantsOf()
	if !ok && !topic.IsPeople() {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changes++
	clear(x.refused)
	for hash, t := range x.known {
		if !ok || t.projectID == projectID {
			delete(x.known, hash)
		}
	}
	return nil
}
