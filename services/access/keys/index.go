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
	current atomic.Pointer[map[string]map[keyHash]*indexedKey] // by project id
	unsaved chan struct{}
}

// principalPrefix is the prefix of the principal IDs of keys.
const principalPrefix = "key:"

type indexedKey struct {
	id        string
	principal string    // the result of access.Principal.ID
	expiresAt time.Time // zero if it never expires
	use       *Use
	used      atomic.Int64
	saved     int64 // guarded by Index.rebuild
}

// NewIndex returns an empty index. Load must be called before use.
func NewIndex(db *gorm.DB, now func() time.Time) *Index {
	x := &Index{db: db, now: now, unsaved: make(chan struct{}, 1)}
	x.current.Store(&map[string]map[keyHash]*indexedKey{})
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
	next := map[string]map[keyHash]*indexedKey{}
	if projectID != "" {
		query = query.Where("project_id = ?", projectID)
		next = maps.Clone(*x.current.Load())
		delete(next, projectID)
	}
	var rows []models.Key
	if err := query.Find(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	before := *x.current.Load()
	for _, row := range rows {
		if len(row.Hash) != len(keyHash{}) {
			continue
		}
		hash := keyHash(row.Hash)
		k := &indexedKey{id: row.ID, principal: principalPrefix + row.ID}
		if row.ExpiresAt != nil {
			k.expiresAt = *row.ExpiresAt
		}
		if old := before[row.ProjectID][hash]; old != nil {
			k.use, k.saved = old.use, old.saved
			k.used.Store(old.used.Load())
		} else {
			k.use = &Use{}
			if row.LastUsedAt != nil {
				k.saved = row.LastUsedAt.Unix()
				k.used.Store(k.saved)
			}
		}
		if next[row.ProjectID] == nil {
			next[row.ProjectID] = map[keyHash]*indexedKey{}
		}
		next[row.ProjectID][hash] = k
	}
	x.current.Store(&next)
	return nil
}

// Find returns the principal ID of the project's usable key with the text, and
// the record of its use. ok is false if there is none.
func (x *Index) Find(projectID, text string) (principal string, use *Use, ok bool) {
	hash, ok := parseKey(text)
	if !ok {
		return "", nil, false
	}
	k := (*x.current.Load())[projectID][hash]
	now := x.now()
	if k == nil || !k.expiresAt.IsZero() && !now.Before(k.expiresAt) {
		return "", nil, false
	}
	if k.used.Swap(now.Unix()) == 0 {
		select {
		case x.unsaved <- struct{}{}:
		default:
		}
	}
	return k.principal, k.use, true
}

// Use returns the record of the use of a key in this process, or nil if the key
// is not usable.
func (x *Index) Use(projectID, id string) *Use {
	for _, k := range (*x.current.Load())[projectID] {
		if k.id == id {
			return k.use
		}
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
	for _, keys := range *x.current.Load() {
		for _, k := range keys {
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
