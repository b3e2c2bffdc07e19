package accounts

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Cache holds the connections in use, so that requests don't read the database.
// It is divided, so that calls rarely wait for each other.
type Cache struct {
	seed  maphash.Seed
	parts [cacheParts]cachePart
}

const (
	// MaxCached is the maximum number of connections in memory.
	MaxCached  = 20_000
	cacheParts = 16
	// cacheSample is the number of entries of which the least recently used one
	// is dropped from a full cache.
	cacheSample = 8
)

// cachePart holds a part of the connections. One that is invalidated while it is
// read isn't stored.
type cachePart struct {
	mu      sync.RWMutex
	entries map[ID]*cacheEntry
	changes uint64
	clock   atomic.Int64 // counts uses
}

type cacheEntry struct {
	*Connection
	stale bool         // remains for its time of connection
	turn  atomic.Int64 // of the last use
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	c := &Cache{seed: maphash.MakeSeed()}
	for i := range c.parts {
		c.parts[i].entries = map[ID]*cacheEntry{}
	}
	return c
}

func (c *Cache) part(id ID) *cachePart {
	return &c.parts[maphash.Comparable(c.seed, id)%cacheParts]
}

// Get returns a cached connection, or nil, and the invalidation count for Put.
func (c *Cache) Get(id ID) (*Connection, uint64) {
	p := c.part(id)
	p.mu.RLock()
	defer p.mu.RUnlock()
	e := p.entries[id]
	if e == nil || e.stale {
		return nil, p.changes
	}
	e.turn.Store(p.clock.Add(1))
	return e.Connection, p.changes
}

// Put stores a connection unless there was an invalidation since Get. In a full
// cache it replaces one that was not used recently. It reports whether the
// connection is another one than the entry's, even if that was invalidated: the
// account was connected or disconnected since.
func (c *Cache) Put(o *Connection, asOf uint64) (another bool) {
	id := o.ID()
	p := c.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.entries[id]
	another = before != nil && !isSameTime(before.ConnectedAt, o.ConnectedAt)
	if p.changes != asOf {
		return another
	}
	if before == nil && len(p.entries) >= MaxCached/cacheParts {
		delete(p.entries, p.oldest())
	}
	e := &cacheEntry{Connection: o}
	e.turn.Store(p.clock.Add(1))
	p.entries[id] = e
	return another
}

func isSameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// oldest returns the least recently used one of some entries.
func (p *cachePart) oldest() (oldest ID) {
	n, least := 0, int64(0)
	for id, e := range p.entries { // in random order
		if turn := e.turn.Load(); n == 0 || turn < least {
			oldest, least = id, turn
		}
		if n++; n == cacheSample {
			break
		}
	}
	return oldest
}

// Forget invalidates a connection. It reports whether there was an entry, which
// remains for Put to compare with.
func (c *Cache) Forget(id ID) (known bool) {
	p := c.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	e := p.entries[id]
	if e == nil {
		return false
	}
	if !e.stale {
		gone := &cacheEntry{Connection: &Connection{}, stale: true}
		gone.ConnectedAt = e.ConnectedAt
		gone.turn.Store(e.turn.Load())
		p.entries[id] = gone
	}
	return true
}
