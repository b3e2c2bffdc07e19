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

// TokenIndex validates access tokens from memory. A token is read from the
// database on first use, so that tokens issued by other replicas are valid at
// once. It is cached until it expires or its project's grants or users change.
type TokenIndex struct {
	db  *gorm.DB
	now func() time.Time

	reading chan struct{} // limits concurrent database reads

	mu      sync.RWMutex
	known   map[tokenHash]*cachedToken
	refused map[tokenHash]time.Time // time until a rejected token is not read again
	changes uint64                  // invalidations; reads that started before the last one are not cached
}

// cachedToken is a token that was valid when it was read.
type cachedToken struct {
	holder    access.TokenHolder
	projectID string
	toolsetID string // empty for the project's endpoint
	expiresAt time.Time
}

// NewTokenIndex returns an empty index of the database's tokens.
func NewTokenIndex(db *gorm.DB, now func() time.Time) *TokenIndex {
	return &TokenIndex{
		db: db, now: now, reading: make(chan struct{}, lookups),
		known: map[tokenHash]*cachedToken{}, refused: map[tokenHash]time.Time{},
	}
}

// Find returns the holder of an access token for the endpoint of a project or of
// its toolset. ok is false for a token with another audience, and if the token
// is not valid. It queries the database only for tokens that are
// not cached, and returns UNAVAILABLE if too many are being read, and database
// errors.
func (x *TokenIndex) Find(ctx context.Context, projectID, toolsetID, token string) (access.TokenHolder, bool, error) {
	secret, ok := parseSecret(accessPrefix, token)
	if !ok {
		return access.TokenHolder{}, false, nil
	}
	t, refused := x.look(secret.plain)
	if t == nil && !refused {
		var err error
		if t, err = x.read(ctx, secret); err != nil {
			return access.TokenHolder{}, false, err
		}
	}
	if t == nil || t.projectID != projectID || t.toolsetID != toolsetID || !x.now().Before(t.expiresAt) {
		return access.TokenHolder{}, false, nil
	}
	return t.holder, true, nil
}

// look returns the cached state of a token.
func (x *TokenIndex) look(hash tokenHash) (known *cachedToken, refused bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if until, ok := x.refused[hash]; ok && x.now().Before(until) {
		return nil, true
	}
	return x.known[hash], false
}

// read reads a token from the database and caches the result. What its user may
// use is decided by views.Views.
func (x *TokenIndex) read(ctx context.Context, secret presented) (*cachedToken, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupWait)
	defer cancel()
	select {
	case x.reading <- struct{}{}:
		defer func() { <-x.reading }()
	case <-ctx.Done():
		f := fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Too many new tokens are being checked. Retry shortly.")
		f.RetryAfter = time.Second
		return nil, f.Because(ctx.Err())
	}
	// The previous read may have loaded this token.
	hash := secret.plain
	if t, refused := x.look(hash); t != nil || refused {
		return t, nil
	}
	x.mu.RLock()
	changes := x.changes
	x.mu.RUnlock()
	var rows []struct {
		UserID, ProjectID, ToolsetID, Scopes string
		ExpiresAt                            time.Time
	}
	now, scoped := x.now(), scopedHash(secret.text)
	err := x.db.WithContext(ctx).Table("oauth_tokens t").
		Select("g.user_id, g.project_id, g.toolset_id, t.scopes, t.expires_at").
		Joins("JOIN oauth_grants g ON g.id = t.grant_id").
		Joins("JOIN users u ON u.id = g.user_id").Joins("JOIN projects p ON p.id = g.project_id").
		Where("((t.hash = ? AND g.toolset_id = '') OR (t.hash = ? AND g.toolset_id <> ''))", secret.plain[:], scoped[:]).
		Where("t.kind = ? AND t.expires_at > ? AND g.revoked_at IS NULL AND g.expires_at > ?", models.TokenAccess, now, now).
		Where("u.disabled_at IS NULL AND p.auth_mode = ?", models.AuthOAuth).Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	if len(rows) == 0 {
		x.keep(changes, func() {
			evict(x.refused, maxRefused, func(until time.Time) bool { return !now.Before(until) })
			x.refused[hash] = now.Add(negativeTTL)
		})
		return nil, nil
	}
	row := rows[0]
	t := &cachedToken{projectID: row.ProjectID, toolsetID: row.ToolsetID, expiresAt: row.ExpiresAt, holder: access.TokenHolder{UserID: row.UserID}}
	for scope := range strings.FieldsSeq(row.Scopes) {
		t.holder.Scopes = append(t.holder.Scopes, access.Scope(scope))
	}
	x.keep(changes, func() {
		evict(x.known, maxCached, func(t *cachedToken) bool { return !now.Before(t.expiresAt) })
		x.known[hash] = t
	})
	return t, nil
}

// keep runs store unless something changed since the count was read: data read
// before a revocation must not be cached.
func (x *TokenIndex) keep(changes uint64, store func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changes == changes {
		store()
	}
}

// evict shrinks a full map by its expired entries, or otherwise by some
// others.
func evict[V any](m map[tokenHash]V, limit int, ended func(V) bool) {
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

// Changed drops the tokens that a change may have revoked: those of a grants
// topic's project, or all if users changed. They are read again on next use. It
// ignores other topics.
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
