package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

// Breaker opens after several exchanges in a row that failed on the way, which
// tool errors and JSON-RPC errors are not. Then one call at a time finds out
// whether the upstream is back. An upstream that lets calls wait for nothing
// is tried after a back-off, because trying costs somebody the whole time-out.
// One whose connections fail is tried by the next call, because that costs
// nobody anything: so the first call behind a restart succeeds. Calls that come
// during such a try wait for it a moment and share its outcome.
type Breaker struct {
	// To be read without the mutex: whether it is open, and whether there are
	// failures that a success has to forget.
	open, failing atomic.Bool

	mu       sync.Mutex
	failures int // in a row
	since    time.Time
	reason   *fault.Fault
	silent   bool      // the upstream does not answer, rather than cannot be reached
	openings int       // back-offs so far; 0 once closed
	next     time.Time // of a silent one, when to try
	probe    Try       // under way; nil without one
	probedAt time.Time
	tried    int // tries that had an outcome
}

// Try is a call that finds out whether the upstream is back. It is closed when
// that is known; nil is any other call.
type Try chan struct{}

// Outcome is the result of an exchange as far as it concerns the connection to
// an upstream.
type Outcome uint8

// The outcomes of an exchange.
const (
	OutcomeNone     Outcome = iota // nothing
	OutcomeAnswered                // it is there, whatever it said
	OutcomeBroken                  // it cannot be reached, or broke the connection
	OutcomeSilent                  // it let the time-out pass and said nothing
)

// IsOpen reports whether calls are kept away, without a lock.
func (b *Breaker) IsOpen() bool { return b.open.Load() }

// Refuses returns why a call cannot be sent now, without waiting, or nil.
func (b *Breaker) Refuses() error {
	if !b.open.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() || !b.silent || b.probe == nil && !time.Now().Before(b.next) {
		return nil
	}
	return b.fault()
}

// Enter lets a call pass. When it is a try, exited has to end that. The error
// is a fault or the context's.
func (b *Breaker) Enter(ctx context.Context) (t Try, err error) {
	if !b.open.Load() {
		return nil, nil
	}
	var patience <-chan time.Time
	b.mu.Lock()
	defer b.mu.Unlock()
	for seen := b.tried; !b.since.IsZero(); {
		switch {
		case b.tried != seen:
			return nil, b.fault() // another found out for this call
		case b.probe == nil && b.silent && time.Now().Before(b.next):
			return nil, b.fault()
		case b.probe == nil:
			b.probe, b.probedAt = make(Try), time.Now()
			return b.probe, nil
		case b.silent:
			return nil, b.fault()
		}
		if patience == nil {
			timer := time.NewTimer(maxProbeWait)
			defer timer.Stop()
			patience = timer.C
		}
		ended := b.probe
		b.mu.Unlock()
		select {
		case <-ended:
		case <-patience:
			err = errPatience
		case <-ctx.Done():
			err = ctx.Err()
		}
		b.mu.Lock()
		if errors.Is(err, errPatience) {
			if b.since.IsZero() {
				return nil, nil
			}
			return nil, b.fault()
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

var errPatience = errors.New("the try took too long")

// Exited takes in how an exchange ended, and ends it when it was a try.
func (b *Breaker) Exited(t Try, o Outcome, err error) {
	if o == OutcomeAnswered && t == nil && !b.failing.Load() {
		return // the common case; a failure of the same moment is as old as this
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	current := t != nil && t == b.probe // otherwise the breaker was closed meanwhile
	switch o {
	case OutcomeAnswered:
		b.close()
	case OutcomeBroken, OutcomeSilent:
		// One that fails after long costs as much as one that says nothing.
		slow := current && time.Since(b.probedAt) > maxProbeWait
		b.fail(current, o == OutcomeSilent || slow, fault.From(err))
	}
	if current && b.probe != nil {
		if o != OutcomeNone {
			b.tried++
		}
		close(b.probe)
		b.probe = nil
	}
}

// fail takes a failure in. Behind the opening only tries decide, and calls
// whose connection broke, because then an upstream that hung may have ended.
func (b *Breaker) fail(try, silent bool, why *fault.Fault) {
	b.failures++
	b.failing.Store(true)
	switch {
	case b.since.IsZero() && b.failures < maxFailures:
		return
	case b.since.IsZero():
		b.since = time.Now()
		b.open.Store(true)
	case !try && silent:
		return
	}
	b.silent, b.reason = silent, why
	if silent {
		b.openings++
		b.next = time.Now().Add(probeBackOff(b.openings))
	}
}

// close lets all calls pass again.
func (b *Breaker) close() {
	b.failures = 0
	b.failing.Store(false)
	if b.since.IsZero() {
		return
	}
	b.since, b.reason, b.silent, b.openings, b.next = time.Time{}, nil, false, 0, time.Time{}
	b.open.Store(false)
	if b.probe != nil {
		close(b.probe)
		b.probe = nil
	}
}

// Reset forgets everything, because the configuration is another.
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.close()
}

// probeBackOff returns how long to wait before the nth try in a row: 1, 2, 4 …
// 30 s, a fifth more or less so that processes do not try together.
func probeBackOff(n int) time.Duration {
	wait := min(minProbeWait<<min(n-1, 10), maxProbeBackOff)
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}

// fault is what a call gets that is not sent. The caller holds the mutex.
func (b *Breaker) fault() *fault.Fault {
	when, after := "the next call tries it again", time.Duration(0)
	switch {
	case b.probe != nil:
		when, after = "another call is finding out whether it is back", CrowdedRetry
	case b.silent:
		after = max(time.Until(b.next), 0)
		when = "it is tried again in " + after.Round(100*time.Millisecond).String()
	}
	f := fault.Upstream(fault.CodeUpstreamUnavailable, "%s (%d times in a row; nothing was sent: %s)", b.reason.Message, b.failures, when)
	f.RetryAfter, f.Detail = after, b.reason.Detail
	return f
}

// Outage returns why the breaker is open, for clients, or "".
func (b *Breaker) Outage() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		return ""
	}
	return b.reason.Message
}

// Shown returns what pages show of the breaker.
func (b *Breaker) Shown() upstream.Breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.since.IsZero():
		return upstream.Breaker{State: upstream.BreakerClosed}
	case b.probe != nil:
		return upstream.Breaker{State: upstream.BreakerHalfOpen, Since: b.probedAt, Reason: b.reason.AdminMessage()}
	}
	return upstream.Breaker{State: upstream.BreakerOpen, Since: b.since, Reason: b.reason.AdminMessage(), NextProbe: b.next}
}
