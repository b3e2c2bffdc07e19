// Package callrate limits the rate of calls of each caller of a project.
package callrate

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
)

// idleTime is the minimum time an unused bucket is retained. Only full
// buckets are deleted, so that deletion never changes a limit.
const idleTime = 10 * time.Minute

// Limits hold a token bucket for each caller of a project with a rate
// limit (declarative `rateLimit`). The limit applies per process.
type Limits struct {
	now     func() time.Time
	buckets sync.Map // bucketKey to *bucket
	swept   struct {
		sync.Mutex
		at time.Time
	}
}

type bucketKey struct{ project, principal string }

type bucket struct {
	*rate.Limiter
	perSecond float64
	burst     int
	used      time.Time // of the last call; guarded by mu
	mu        sync.Mutex
}

// New returns Limits without buckets.
func New(now func() time.Time) *Limits { return &Limits{now: now} }

// Allow takes calls tokens from the caller's bucket. If it has too few, Allow
// takes none and returns RATE_LIMITED with the time to wait. A project without
// a rate allows every call.
func (l *Limits) Allow(project *models.Project, principal access.Principal, calls int) error {
	if project.RatePerSecond <= 0 {
		return nil
	}
	now := l.now()
	l.sweep(now)
	key := bucketKey{project.ID, principal.ID()}
	burst := max(project.RateBurst, 1)
	v, ok := l.buckets.Load(key)
	if b, _ := v.(*bucket); !ok || b.perSecond != project.RatePerSecond || b.burst != burst {
		fresh := &bucket{Limiter: rate.NewLimiter(rate.Limit(project.RatePerSecond), burst), perSecond: project.RatePerSecond, burst: burst, used: now}
		if ok {
			l.buckets.CompareAndSwap(key, v, fresh)
		} else {
			l.buckets.LoadOrStore(key, fresh)
		}
		if v, ok = l.buckets.Load(key); !ok {
			v = fresh
		}
	}
	b := v.(*bucket)
	b.mu.Lock()
	b.used = now
	b.mu.Unlock()
	if calls > burst {
		return limited("The request has %d calls. The project allows bursts of %d.", calls, burst)
	}
	r := b.ReserveN(now, calls)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	f := limited("The project allows %g calls per second.", project.RatePerSecond)
	f.RetryAfter = wait
	return f
}

func limited(format string, args ...any) *fault.Fault {
	f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, format, args...)
	f.RetryAfter = time.Second
	return f
}

// sweep deletes idle buckets, at most once per idleTime.
func (l *Limits) sweep(now time.Time) {
	l.swept.Lock()
	if now.Sub(l.swept.at) < idleTime {
		l.swept.Unlock()
		return
	}
	l.swept.at = now
	l.swept.Unlock()
	l.buckets.Range(func(key, v any) bool {
		b := v.(*bucket)
		b.mu.Lock()
		idle := now.Sub(b.used) >= idleTime && b.TokensAt(now) >= float64(b.burst)
		b.mu.Unlock()
		if idle {
			l.buckets.CompareAndDelete(key, v)
		}
		return true
	})
}
