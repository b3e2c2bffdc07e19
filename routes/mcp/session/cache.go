package session

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
)

// sessionCache is a cache of sessions by their id, because decrypting an id
// takes longer than the rest of a small request. A hit authorizes nothing: the
// caller checks owner, expiry and end at each use. Entries remain valid, because
// the keys of a process don't change.
//
// The set of an id depends on its hash, whose seed is secret. A client therefore
// can't choose an id that evicts a certain session, nor derive an id from the
// duration of comparisons. A hit takes no lock.
type sessionCache struct {
	seed maphash.Seed
	sets [maxOpenedSessions / sessionsPerSet]sessionSet
}

type sessionSet [sessionsPerSet]atomic.Pointer[cachedSession]

type cachedSession struct {
	hash    uint64
	id      string
	session *Session
}

// hash returns the hash of an id for the other methods. It covers only the end
// of the id, which is as random as the whole.
func (o *sessionCache) hash(id string) uint64 {
	return maphash.String(o.seed, id[max(0, len(id)-hashedEnd):])
}

// hashedEnd is the number of bytes at the end of an id that are hashed.
const hashedEnd = 32

// find returns the session of an id, or nil. It is shared and must not be
// modified.
func (o *sessionCache) find(hash uint64, id string) *Session {
	set := o.setOf(hash)
	for i := range set {
		if s := set[i].Load(); s != nil && s.hash == hash && s.id == id {
			return s.session
		}
	}
	return nil
}

// keep caches a session. If its set is full, it replaces a random session.
func (o *sessionCache) keep(hash uint64, id string, session *Session) {
	set, s := o.setOf(hash), &cachedSession{hash: hash, id: id, session: session}
	for i := range set {
		if set[i].CompareAndSwap(nil, s) {
			return
		}
	}
	set[rand.IntN(len(set))].Store(s)
}

func (o *sessionCache) setOf(hash uint64) *sessionSet { return &o.sets[hash%uint64(len(o.sets))] }
