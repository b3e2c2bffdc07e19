package tasks

import (
	lru "container/list"
	"sync"

	"mcpgateway/services/upstream"
)

// known are the tasks that clients of this process hold, the latest maxKnown.
type known struct {
	mu    sync.Mutex
	order *lru.List // of *entry, newest first
	byKey map[key]*lru.Element
}

// key identifies a task of an account at a server.
type key struct{ server, person, forwarded, id string }

func keyOf(t *upstream.Target, id string) key { return key{t.ServerID, t.Person, t.Forwarded, id} }

// entry is a task that a client holds.
type entry struct {
	key   key
	text  string // the sealed handle
	owner Owner
	state string // as stored
	open  bool
	push  func(method string, params []byte) bool
	// shared reports whether the server gave the id to several tasks, in different
	// sessions, so that a notification doesn't tell which one it is.
	shared bool
}

func newKnown() *known { return &known{order: lru.New(), byKey: map[key]*lru.Element{}} }

// put stores the latest state of a task and returns the one before, if there is
// one. A task that has ended stays ended: states can arrive out of order. stored is
// false for such a state.
func (k *known) put(at key, e entry) (before *entry, stored bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e.key = at
	if old := k.byKey[at]; old != nil {
		before = old.Value.(*entry)
		if before.text == e.text && e.open && !before.open {
			return before, false
		}
		if e.push == nil && before.text == e.text {
			e.push = before.push
		}
		e.shared = before.shared || before.text != e.text
		k.order.Remove(old)
	}
	k.byKey[at] = k.order.PushFront(&e)
	for k.order.Len() > maxKnown {
		delete(k.byKey, k.order.Remove(k.order.Back()).(*entry).key)
	}
	return before, true
}

func (k *known) get(at key) (entry, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.byKey[at]; e != nil {
		return *e.Value.(*entry), true
	}
	return entry{}, false
}
