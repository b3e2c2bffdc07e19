package passwords

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"mcpgateway/services/fault"
)

// Maximum numbers of password hashes computed concurrently. They limit the
// memory of hashing.
const (
	MaxSignInHashes   = 2
	MaxSignedInHashes = 2

	maxHashWait = 10 * time.Second
)

// Prefix lengths of networks that may hold at most one slot (bits).
const (
	hashNetwork4 = 24
	hashNetwork6 = 48
)

// Queue selects the queue in which a password hash waits for a slot. Sign-ins
// are queued by network, and each network holds at most one slot, so that no
// network can block the sign-ins of others. Signed-in users have separate
// slots, at most one per user.
type Queue struct {
	signedIn bool
	key      string
}

// NetworkQueue returns the queue for sign-ins from an address.
func NetworkQueue(ip string) Queue {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return Queue{}
	}
	addr = addr.Unmap().WithZone("")
	bits := hashNetwork4
	if addr.Is6() {
		bits = hashNetwork6
	}
	network, err := addr.Prefix(bits)
	if err != nil {
		return Queue{}
	}
	return Queue{key: network.String()}
}

// SignedInQueue returns the queue of a signed-in user. id is the ID of the user
// or of the session.
func SignedInQueue(id string) Queue { return Queue{signedIn: true, key: id} }

// hashSlots holds the slots of one kind of queue. It is safe for concurrent
// use.
type hashSlots struct {
	free chan struct{} // holds one value for each slot in use

	mu    sync.Mutex
	lines map[string]*hashLine // by key, while in use
}

// hashLine is the queue of one key. Only its first caller waits for a slot.
type hashLine struct {
	first chan struct{}
	users int
}

func newHashSlots(n int) *hashSlots {
	return &hashSlots{free: make(chan struct{}, n), lines: map[string]*hashLine{}}
}

// acquire waits for a slot and returns a function that releases it. It returns
// UNAVAILABLE after maxHashWait, and the context's error.
func (s *hashSlots) acquire(ctx context.Context, key string) (release func(), err error) {
	line := s.enter(key)
	wait := time.NewTimer(maxHashWait)
	defer wait.Stop()
	var taken []chan struct{}
	release = func() {
		for _, c := range slices.Backward(taken) {
			<-c
		}
		s.leave(key, line)
	}
	for _, c := range []chan struct{}{line.first, s.free} {
		select {
		case c <- struct{}{}:
			taken = append(taken, c)
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		case <-wait.C:
			release()
			f := fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Too many sign-ins in progress. Try again in a few seconds.")
			f.RetryAfter = maxHashWait
			return nil, f
		}
	}
	return release, nil
}

func (s *hashSlots) enter(key string) *hashLine {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.lines[key]
	if line == nil {
		line = &hashLine{first: make(chan struct{}, 1)}
		s.lines[key] = line
	}
	line.users++
	return line
}

func (s *hashSlots) leave(key string, line *hashLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line.users--; line.users == 0 {
		delete(s.lines, key)
	}
}
