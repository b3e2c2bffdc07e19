package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/forwarded"
)

// How many wrong credentials one address may present for one subject (contract,
// "Limits"), and how many of these pairs are remembered in all.
const (
	MaxAuthFailures   = 10
	AuthFailureWindow = time.Minute

	failureShards       = 64
	addressesPerFailure = maxAddresses / failureShards
)

// FailureLimit counts wrong credentials for one purpose, by address and by a
// subject such as the client they are for: the empty subject where there is
// none. After MaxAuthFailures within AuthFailureWindow it rejects more until the
// oldest of these failures is that long ago. A caller that calls Check first
// rejects right credentials too; one that calls only Failed accepts them.
// Loopback addresses count as well; of IPv6 a whole /64 counts as one
// address. It holds per process and remembers a bounded number of pairs, the
// ones that failed last. It is safe for concurrent use, and while no pair is
// stopped a check costs one atomic read.
type FailureLimit struct {
	now    func() time.Time
	seed   maphash.Seed
	until  atomic.Int64 // nothing is stopped from then on; Unix nanoseconds
	shards [failureShards]failureShard
}

type failureShard struct {
	mu   sync.Mutex
	last map[failureKey]*failures
}

// failureKey is a network, and the hash of a subject.
type failureKey struct {
	network netip.Prefix
	subject uint64
}

// failures are the moments of the last failures of one address, in a ring.
type failures struct {
	at   [MaxAuthFailures]time.Time
	next int // the oldest
}

// stoppedUntil returns when the address may present a credential again; zero
// or a moment that has passed when it may now.
func (f *failures) stoppedUntil() time.Time {
	oldest := f.at[f.next]
	if oldest.IsZero() {
		return oldest
	}
	return oldest.Add(AuthFailureWindow)
}

// check returns RATE_LIMITED while the address is stopped.
func (f *failures) check(now time.Time) error {
	wait := f.stoppedUntil().Sub(now)
	if wait <= 0 {
		return nil
	}
	refused := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "too many wrong credentials came from this address: check the one in use, and wait before the next attempt")
	refused.RetryAfter = wait
	return refused
}

func (f *failures) latest() time.Time {
	return f.at[(f.next+MaxAuthFailures-1)%MaxAuthFailures]
}

// NewFailureLimit returns a limit that has seen no failure.
func NewFailureLimit(now func() time.Time) *FailureLimit {
	l := &FailureLimit{now: now, seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].last = map[failureKey]*failures{}
	}
	return l
}

// Check returns RATE_LIMITED, with the time to wait, when the address of the
// request is stopped for the subject. Call it before a credential is verified.
func (l *FailureLimit) Check(c *fiber.Ctx, subject string) error {
	now := l.now()
	if now.UnixNano() >= l.until.Load() {
		return nil
	}
	shard, key := l.lock(c, subject)
	defer shard.mu.Unlock()
	f := shard.last[key]
	if f == nil {
		return nil
	}
	return f.check(now)
}

// Failed notes that a credential of the request was judged and is wrong. It
// returns RATE_LIMITED when the address was stopped while that was judged, so
// that attempts made at once are told no more than those made one by one.
func (l *FailureLimit) Failed(c *fiber.Ctx, subject string) error {
	now := l.now()
	shard, key := l.lock(c, subject)
	defer shard.mu.Unlock()
	f := shard.last[key]
	if f == nil {
		if len(shard.last) >= addressesPerFailure {
			shard.makeRoom(now)
		}
		f = &failures{}
		shard.last[key] = f
	}
	if err := f.check(now); err != nil {
		return err
	}
	f.at[f.next] = now
	f.next = (f.next + 1) % MaxAuthFailures
	l.extend(f.stoppedUntil())
	return nil
}

// extend makes Check look closer until the moment.
func (l *FailureLimit) extend(until time.Time) {
	if until.IsZero() {
		return
	}
	for {
		known := l.until.Load()
		if until.UnixNano() <= known || l.until.CompareAndSwap(known, until.UnixNano()) {
			return
		}
	}
}

// lock returns the key of the request's address and a subject, and the locked
// shard that remembers it, which the caller unlocks.
func (l *FailureLimit) lock(c *fiber.Ctx, subject string) (*failureShard, failureKey) {
	key := failureKey{networkOf(forwarded.ParseAddress(web.ClientIP(c))), maphash.String(l.seed, subject)}
	shard := &l.shards[maphash.Comparable(l.seed, key)%failureShards]
	shard.mu.Lock()
	return shard, key
}

// makeRoom forgets the addresses whose failures are too old to count, and the
// one that failed the longest ago when there is none.
func (s *failureShard) makeRoom(now time.Time) {
	var oldest failureKey
	var at time.Time
	for key, f := range s.last {
		latest := f.latest()
		if now.Sub(latest) >= AuthFailureWindow {
			delete(s.last, key)
			continue
		}
		if at.IsZero() || latest.Before(at) {
			oldest, at = key, latest
		}
	}
	if len(s.last) >= addressesPerFailure {
		delete(s.last, oldest)
	}
}
