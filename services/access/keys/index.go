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

// Index holds the usable keys of every project in memory, so that checking
// one costs a hash and a look-up. It keeps revocations no longer than the
// change feed takes to tell of them; on the process that revoked, that is
// before the revocation is answered.
type Index struct {
	db      *gorm.DB
	now     func() time.Time
	rebuild sync.Mutex
	current atomic.Pointer[map[string]map[keyHash]*indexedKey] // by project id
}

// principalPrefix begins the principal ids of keys.
const principalPrefix = "key:"

type indexedKey struct {
	id        string
	principal string    // as access.Principal.ID returns it
	expiresAt time.Time // zero never expires
	used      atomic.Int64
	saved     int64 // guarded by Index.rebuild
}

// NewIndex returns an empty index; Load fills it.
func NewIndex(db *gorm.DB, now func() time.Time) *Index {
	x := &Index{db: db, now: now}
	x.current.Store(&map[string]map[keyHash]*indexedKey{})
	return x
}

// Load reads the keys of every project from the database.
func (x *Index) Load(ctx context.Context) error { return x.reload(ctx, "") }

// Changed reads the keys of a keys topic's project again. Other topics are ignored.
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
			k.used.Store(old.used.Load())
			k.saved = old.saved
		}
		if next[row.ProjectID] == nil {
			next[row.ProjectID] = map[keyHash]*indexedKey{}
		}
		next[row.ProjectID][hash] = k
	}
	x.current.Store(&next)
	return nil
}

// Find returns the principal id of the usable key with the text in the project;
// ok is false when there is none.
func (x *Index) Find(projectID, text string) (principal string, ok bool) {
	hash, ok := parseKey(text)
	if !ok {
		return "", false
	}
	k := (*x.current.Load())[projectID][hash]
	now := x.now()
	if k == nil || !k.expiresAt.IsZero() && !now.Before(k.expiresAt) {
		return "", false
	}
	k.used.Store(now.Unix())
	return k.principal, true
}

// SaveUse writes the moments of last use that are newer than the stored ones.
// It is called now and then, never on the way of a request, and holds up
// neither requests nor revocations while it writes.
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
