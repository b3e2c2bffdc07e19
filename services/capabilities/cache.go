package capabilities

import (
	"bytes"
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
)

// Limits of a cache.
const (
	cacheSets   = 256
	cachePerSet = 4
	// maxCached is the maximum size in bytes of cached objects.
	maxCached = 4 << 10
)

// Cache holds what was derived from objects that clients declare with every
// call. It is safe for concurrent use, and a hit takes no lock.
type Cache[T any] struct {
	derive func(raw []byte) T
	seed   maphash.Seed
	sets   [cacheSets][cachePerSet]atomic.Pointer[cached[T]]
}

type cached[T any] struct {
	raw   []byte
	value T
}

// NewCache returns a cache of the values that derive returns. derive must be safe
// for concurrent use, and can keep raw.
func NewCache[T any](derive func(raw []byte) T) *Cache[T] {
	return &Cache[T]{derive: derive, seed: maphash.MakeSeed()}
}

// Of returns the value of a raw object. Larger objects than 4 KiB are not cached.
func (c *Cache[T]) Of(raw []byte) T {
	if len(raw) > maxCached {
		return c.derive(raw)
	}
	set := &c.sets[maphash.Bytes(c.seed, raw)%cacheSets]
	for i := range set {
		if e := set[i].Load(); e != nil && bytes.Equal(e.raw, raw) {
			return e.value
		}
	}
	raw = bytes.Clone(raw) // raw can be part of a whole request
	e := &cached[T]{raw: raw, value: c.derive(raw)}
	for i := range set {
		if set[i].CompareAndSwap(nil, e) {
			return e.value
		}
	}
	set[rand.IntN(cachePerSet)].Store(e) //nolint:gosec // which one is replaced is no secret
	return e.value
}
