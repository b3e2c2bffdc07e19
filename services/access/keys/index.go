package keys

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Index holds the usable keys of every project in memory, so that a check needs
// only a hash and a map lookup. A revocation applies once the change feed
// delivers it; in the process that revoked, it applies before Revoke returns.
type Index struct {
	db      *gorm.DB
	now     func() time.Time
	rebuild sync.Mutex
	current atomic.Pointer[map[string]*projectKeys] // by project id
	unsaved chan struct{}
}

// principalPrefix is the prefix of the principal IDs of keys.
const principalPrefix = "key:"

type indexedKey struct {
	id        string
	scope     Scope
	principal string    // the result of access.Principal.ID
	expiresAt time.Time // zero if it never expires
	use       *Use
	used      atomic.Int64
	saved     int64 // guarded by Index.rebuild
}

// projectKeys are the usable keys of a project.
type projectKeys struct {
	byHash      map[keyHash]*indexedKey
	byPrincipal map[string]*indexedKey
}

// Scope is the part of its project that a key may use.
type Scope struct {
	UserID   string   // owner of a personal key, or empty
	Limited  bool     // only Toolsets
	Toolsets []string // ids, sorted
}

// NewIndex returns an empty index. Load must be called before use.
func NewIndex(db *gorm.DB, now func() time.Time) *Index {
	x := &Index{db: db, now: now, unsaved: make(chan struct{}, 1)}
	x.current.Store(&map[string]*projectKeys{})
	return x
}

// Load reads the keys of every project from the database.
func (x *Index) Load(ctx context.Context) error { return x.reload(ctx, "") }

// Changed reloads the keys of the topic's project. It ignores other topics.
func (x *Index) Changed(ctx context.Context, topic notify.Topic) error {
	id, ok := topic.KeysOf()
	if !ok {
		return nil
	}
	return x.reload(ctx, id)
}

func (x *Index) reload(ctx context.Context, projectID string) error {
	x.rebuild.Lock()
	defer x.rebuild.Unlock()
	query := x.db.WithContext(ctx).Where("revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", x.now())
	next := map[string]*projectKeys{}
	if projectID != "" {
		query = query.Where("project_id = ?", projectID)
		next = maps.Clone(*x.current.Load())
		delete(next, projectID)
	}
	var rows []models.Key
	if err := query.Find(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	toolsets, err := x.toolsets(ctx, projectID)
	if err != nil {
		return err
	}
	before := *x.current.Load()
	for _, row := range rows {
		if len(row.Hash) != len(keyHash{}) {
			continue
		}
		hash := keyHash(row.Hash)
		k := newIndexedKey(&row, before[row.ProjectID].find(hash))
		k.scope = Scope{UserID: row.UserID, Limited: row.Scope != models.KeyProject, Toolsets: toolsets[row.ID]}
		if next[row.ProjectID] == nil {
			next[row.ProjectID] = &projectKeys{byHash: map[keyHash]*indexedKey{}, byPrincipal: map[string]*indexedKey{}}
		}
		next[row.ProjectID].byHash[hash] = k
		next[row.ProjectID].byPrincipal[k.principal] = k
	}
	x.current.Store(&next)
	return nil
}

// toolsets returns the sorted toolset ids of the keys of a project, or of all.
func (x *Index) toolsets(ctx context.Context, projectID string) (map[string][]string, error) {
	query := x.db.WithContext(ctx).Order("key_id, toolset_id")
	if projectID != "" {
		query = query.Where("key_id IN (SELECT id FROM keys WHERE project_id = ?)", projectID)
	}
	var rows []models.KeyToolset
	if err := query.Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	of := map[string][]string{}
	for _, row := range rows {
		of[row.KeyID] = append(of[row.KeyID], row.ToolsetID)
	}
	return of, nil
}

// newIndexedKey returns the entry of a key. old is its previous entry or nil.
func newIndexedKey(row *models.Key, old *indexedKey) *indexedKey {
	k := &indexedKey{id: row.ID, principal: principalPrefix + row.ID}
	if row.ExpiresAt != nil {
		k.expiresAt = *row.ExpiresAt
	}
	if old != nil {
		k.use, k.saved = old.use, old.saved
		k.used.Store(old.used.Load())
		return k
	}
	k.use = &Use{}
	if row.LastUsedAt != nil {
		k.saved = row.LastUsedAt.Unix()
		k.used.Store(k.saved)
	}
	return k
}

// find returns the key with the hash, or nil.
func (p *projectKeys) find(hash keyHash) *indexedKey {
	if p == nil {
		return nil
	}
	return p.byHash[hash]
}

// Find returns the principal ID of the project's usable key with the text, its
// owner if it is a personal key, and the record of its use. ok is false if there
// is none.
func (x *Index) Find(projectID, text string) (principal, userID string, use *Use, ok bool) {
	hash, ok := parseKey(text)
	if !ok {
		return "", "", nil, false
	}
	project := (*x.current.Load())[projectID]
	k := project.find(hash)
	if k == nil {
		k = project.find(scopedHash(text))
	}
	now := x.now()
	if k == nil || k.expired(now) {
		return "", "", nil, false
	}
	if k.used.Swap(now.Unix()) == 0 {
		select {
		case x.unsaved <- struct{}{}:
		default:
		}
	}
	return k.principal, k.scope.UserID, k.use, true
}

func (k *indexedKey) expired(now time.Time) bool {
	return !k.expiresAt.IsZero() && !now.Before(k.expiresAt)
}

// Scope returns what the key with a principal ID may use now. ok is false if it
// is not usable.
func (x *Index) Scope(projectID, principal string) (scope Scope, ok bool) {
	project := (*x.current.Load())[projectID]
	if project == nil {
		return Scope{}, false
	}
	k := project.byPrincipal[principal]
	if k == nil || k.expired(x.now()) {
		return Scope{}, false
	}
	return k.scope, true
}

// Use returns the record of the use of a key in this process, or nil if the key
// is not usable.
func (x *Index) Use(projectID, id string) *Use {
	project := (*x.current.Load())[projectID]
	if project == nil {
		return nil
	}
	if k := project.byPrincipal[principalPrefix+id]; k != nil {
		return k.use
	}
	return nil
}

// FirstUses receives after the first use of a key, so that SaveUse can be
// called soon: other processes show it too.
func (x *Index) FirstUses() <-chan struct{} { return x.unsaved }

// Principal returns the principal ID of a key.
func Principal(id string) string { return principalPrefix + id }

// SaveUse stores times of last use that are newer than the stored ones. It is
// called periodically and never by a request. It doesn't hold the lock while it
// writes, so that requests and revocations aren't blocked.
func (x *Index) SaveUse(ctx context.Context) error {
	type use struct {
		key *indexedKey
		at  int64
	}
	var uses []use
	x.rebuild.Lock()
	for _, project := range *x.current.Load() {
		for _, k := range project.byHash {
			if at := k.used.Load(); at > k.saved {
				uses = append(uses, use{k, at})
			}
		}
	}
	x.rebuild.Unlock()
	for _, u := range uses {
		at := time.Unix(u.at, 0).UTC()
		err := x.db.WithContext(ctx).Model(&models.Key{}).
			Where("id = ? AND (last_used_at IS NULL OR last_used_at < ?)", u.key.id, at).
			Update("last_used_at", at).Error
		if err != nil {
			return fault.Internal(err)
		}
		x.rebuild.Lock()
		u.key.saved = max(u.key.saved, u.at)
		x.rebuild.Unlock()
	}
	return nil
}
