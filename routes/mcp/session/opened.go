package session

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
)

// openedSessions remember what was found in session ids, which costs more to
// open than everything else that a small request needs. Nothing is decided
// here: whose a session is, and whether it lives, is asked at every use. The
// keys that open ids are those of this process's start.
//
// An id's place follows from its hash, whose seed nobody outside knows: so
// nobody can aim at the place of another's session, nor learn an id from how
// long it takes to compare it. A hit takes no lock.
type openedSessions struct {
	seed maphash.Seed
	sets [maxOpenedSessions / sessionsPerSet]sessionSet
}

type sessionSet [sessionsPerSet]atomic.Pointer[openedSession]

type openedSession struct {
	hash    uint64
	id      string
	session *Session
}

// hash returns the hash of an id, which goes with the id to the other methods.
// The end of an id is as random as the whole.
func (o *openedSessions) hash(id string) uint64 {
	return maphash.String(o.seed, id[max(0, len(id)-hashedEnd):])
}

// hashedEnd is how many bytes at the end of an id are hashed.
const hashedEnd = 32

// find returns the session of an id, or nil. It is shared: it must not be
// changed.
func (o *openedSessions) find(hash uint64, id string) *Session {
	set := o.setOf(hash)
	for i := range set {
		if s := set[i].Load(); s != nil && s.hash == hash && s.id == id {
			return s.session
		}
	}
	return nil
}

// keep remembers a session in place of any other of its set.
func (o *openedSessions) keep(hash uint64, id string, session *Session) {
	set, s := o.setOf(hash), &openedSession{hash: hash, id: id, session: session}
	for i := range set {
		if set[i].CompareAndSwap(nil, s) {
			return
		}
	}
	set[rand.IntN(len(set))].Store(s)
}

func (o *openedSessions) setOf(hash uint64) *sessionSet { return &o.sets[hash%uint64(len(o.sets))] }
