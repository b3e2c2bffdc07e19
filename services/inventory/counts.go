package inventory

import "sync/atomic"

// syncCounts are how the syncs of this process ended.
type syncCounts struct{ succeeded, failed atomic.Int64 }

func (c *syncCounts) add(err error) {
	if err != nil {
		c.failed.Add(1)
		return
	}
	c.succeeded.Add(1)
}

// Syncs returns how many syncs since the start ended with an answer of the
// upstream that was stored, and how many with a failure of it.
func (s *Syncer) Syncs() (succeeded, failed int64) {
	return s.counts.succeeded.Load(), s.counts.failed.Load()
}
