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

// Breaker opens after several consecutive connection failures or timeouts. Tool
// errors and JSON-RPC errors are not failures. While it is open, one call at a
// time probes the upstream.
//
// After timeouts the next probe waits for a backoff, because a probe costs a
// caller the whole timeout. After connection failures the next call is the
// probe, because such a probe fails quickly; so the first call after a restart
// succeeds. Calls that arrive during such a probe wait for it briefly and share
// its outcome.
type Breaker struct {
	// Read without mu: open reports whether the breaker is open. failing
	// reports whether there are failures for a success to reset.
	open, failing atomic.Bool

	mu           sync.Mutex
	failures     int // in a row
	since        time.Time
	reason       *fault.Fault
	unresponsive bool      // the upstream times out, rather than fails to connect
	openings     int       // number of backoffs; 0 after closing
	next         time.Time // when to probe, if silent
	probe        ProbeRun  // probe in flight, or nil
	probedAt     time.Time
	tried        int // number of probes with an outcome
}

// ProbeRun marks a call as the probe of an open breaker. It is closed when the
// outcome is known. It is nil for all other calls.
type ProbeRun chan struct{}

// Outcome is the result of a call with regard to the connection.
type Outcome uint8

// The outcomes of a call.
const (
	OutcomeNone        Outcome = iota // no evidence
	OutcomeAnswered                   // the upstream responded, possibly with an error
	OutcomeUnreachable                // the connection failed
	OutcomeTimedOut                   // the call timed out without any message
)

// IsOpen reports whether calls are paused. It takes no lock.
func (b *Breaker) IsOpen() bool { return b.open.Load() }

// Rejects returns the fault for a call that cannot be sent now, or nil. It does
// not wait.
func (b *Breaker) Rejects() error {
	if !b.open.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() || !b.unresponsive || b.probe == nil && !time.Now().Before(b.next) {
		return nil
	}
	return b.fault()
}

// Enter admits a call. If t is not nil, the call is a probe, and the caller
// must call Exited with it. The error is a fault or ctx.Err().
func (b *Breaker) Enter(ctx context.Context) (t ProbeRun, err error) {
	if !b.open.Load() {
		return nil, nil
	}
	var patience <-chan time.Time
	b.mu.Lock()
	defer b.mu.Unlock()
	for seen := b.tried; !b.since.IsZero(); {
		switch {
		case b.tried != seen:
			return nil, b.fault() // the probe of another call failed
		case b.probe == nil && b.unresponsive && time.Now().Before(b.next):
			return nil, b.fault()
		case b.probe == nil:
			b.probe, b.probedAt = make(ProbeRun), time.Now()
			return b.probe, nil
		case b.unresponsive:
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
			err = errProbeTimeout
		case <-ctx.Done():
			err = ctx.Err()
		}
		b.mu.Lock()
		if errors.Is(err, errProbeTimeout) {
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

var errProbeTimeout = errors.New("probe took too long")

// Record records the outcome of a call and ends the probe if t is one.
func (b *Breaker) Record(t ProbeRun, o Outcome, err error) {
	if o == OutcomeAnswered && t == nil && !b.failing.Load() {
		return // the common case; a concurrent failure is as recent as this success
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	current := t != nil && t == b.probe // otherwise the breaker was closed in the meantime
	switch o {
	case OutcomeAnswered:
		b.close()
	case OutcomeUnreachable, OutcomeTimedOut:
		// A slow failure costs the caller as much as a timeout.
		slow := current && time.Since(b.probedAt) > maxProbeWait
		b.fail(current, o == OutcomeTimedOut || slow, fault.From(err))
	}
	if current && b.probe != nil {
		if o != OutcomeNone {
			b.tried++
		}
		close(b.probe)
		b.probe = nil
	}
}

// fail records a failure. While the breaker is open, only the outcomes of
// probes and connection failures count. A connection failure counts because a
// hanging upstream may have stopped.
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
	b.unresponsive, b.reason = silent, why
	if silent {
		b.openings++
		b.next = time.Now().Add(probeBackOff(b.openings))
	}
}

// close closes the breaker. The caller must hold mu.
func (b *Breaker) close() {
	b.failures = 0
	b.failing.Store(false)
	if b.since.IsZero() {
		return
	}
	b.since, b.reason, b.unresponsive, b.openings, b.next = time.Time{}, nil, false, 0, time.Time{}
	b.open.Store(false)
	if b.probe != nil {
		close(b.probe)
		b.probe = nil
	}
}

// Reset closes the breaker because the configuration has changed or
// the server has started.
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.close()
}

// probeBackOff returns the delay before the nth consecutive probe: 1, 2, 4, …
// 30 s, with 20% jitter so that processes do not probe at the same time.
func probeBackOff(n int) time.Duration {
	wait := min(minProbeWait<<min(n-1, 10), maxProbeBackOff)
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}

// fault returns the fault for a call that is not sent. The caller must hold mu.
func (b *Breaker) fault() *fault.Fault {
	when, after := "The next call tries again.", time.Duration(0)
	switch {
	case b.probe != nil:
		when, after = "A probe is in progress. Retry shortly.", OverloadedRetry
	case b.unresponsive:
		after = max(time.Until(b.next), 0)
		when = "Retry in " + after.Round(100*time.Millisecond).String() + "."
	}
	f := fault.Upstream(fault.CodeUpstreamUnavailable, "%s It failed %d times in a row, so calls are paused and nothing was sent. %s", b.reason.Message, b.failures, when)
	f.RetryAfter, f.Detail, f.Reason = after, b.reason.Detail, b.reason.Reason
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

// Status returns the state of the breaker for pages.
func (b *Breaker) Status() upstream.Breaker {
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
