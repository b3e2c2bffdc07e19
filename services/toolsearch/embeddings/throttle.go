package embeddings

import (
	"sync"
	"time"
)

// throttle limits the lines of the log.
type throttle struct {
	mu   sync.Mutex
	last time.Time
	left int // lines left out since
}

// allow reports whether a line is due, and the number of lines left out before.
func (t *throttle) allow(now time.Time) (before int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.last.IsZero() && now.Sub(t.last) < logInterval {
		t.left++
		return 0, false
	}
	before, t.last, t.left = t.left, now, 0
	return before, true
}

// warn logs a failure, at most every 5 minutes.
func (e *Embeddings) warn(what string, err error) {
	if before, ok := e.logged.allow(e.Now()); ok {
		e.Log.Warn("embeddings failed", "at", what, "error", err, "failures_before", before)
	}
}
