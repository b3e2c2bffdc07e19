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

// Limits of wrong credentials that one address may send for one subject, and of
// the number of stored pairs.
const (
	MaxAuthFailures   = 10
	AuthFailureWindow = time.Minute

	failureShards       = 64
	addressesPerFailure = maxAddresses / failureShards
)

// FailureLimit counts wrong credentials for one purpose, by address and
// subject, such as the client they are for. The subject may be empty. After
// MaxAuthFailures within AuthFailureWindow it rejects credentials until the
// oldest of these failures is older than the window. A caller that calls Check
// first also rejects correct credentials; one that calls only Failed accepts
// them. Loopback addresses are not exempt; an IPv6 /64 counts as one address.
// It applies per process and stores a limited number of pairs, those with the
// latest failures. It is safe for concurrent use. While no pair is blocked,
// Check costs one atomic read.
type FailureLimit struct {
	now    func() time.Time
	seed   maphash.Seed
	until  atomic.Int64 // end of the last block; Unix nanoseconds
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

// failures are the times of the last failures of one address, in a ring.
type failures struct {
	at   [MaxAuthFailures]time.Time
	next int // index of the oldest
}

// blockedUntil returns when the address may send a credential again. It is zero
// or in the past if the address is not blocked.
func (f *failures) blockedUntil() time.Time {
	oldest := f.at[f.next]
	if oldest.IsZero() {
		return oldest
	}
	return oldest.Add(AuthFailureWindow)
}

// check returns RATE_LIMITED while the address is blocked.
func (f *failures) check(now time.Time) error {
	wait := f.blockedUntil().Sub(now)
	if wait <= 0 {
		return nil
	}
	refused := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many wrong credentials from this address. Check yours and retry later.")
	refused.RetryAfter = wait
	return refused
}

func (f *failures) latest() time.Time {
	return f.at[(f.next+MaxAuthFailures-1)%MaxAuthFailures]
}

// NewFailureLimit returns a limit without failures.
func NewFailureLimit(now func() time.Time) *FailureLimit {
	l := &FailureLimit{now: now, seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].last = map[failureKey]*failures{}
	}
	return l
}

// Check returns RATE_LIMITED, with the time to wait, if the address of the
// request is blocked for the subject. It must be called before the credential
// is verified.
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

// Failed records a wrong credential of the request. It returns RATE_LIMITED if
// the address was blocked during the verification, so that concurrent attempts
// learn no more than sequential ones.
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
	l.extend(f.blockedUntil())
	return nil
}

// extend moves the end of the last block to until, unless it is later already.
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

// lock returns the key for the request's address and the subject, and its
// locked shard. The caller must unlock the shard.
func (l *FailureLimit) lock(c *fiber.Ctx, subject string) (*failureShard, failureKey) {
	key := failureKey{networkOf(forwarded.ParseAddress(web.ClientIP(c))), maphash.String(l.seed, subject)}
	shard := &l.shards[maphash.Comparable(l.seed, key)%failureShards]
	shard.mu.Lock()
	return shard, key
}

// makeRoom deletes addresses whose failures have expired. If there are none, it
// deletes the address with the oldest failure.
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
