package inventory

import "sync/atomic"

// syncCounts counts the outcomes of this process's syncs.
type syncCounts struct{ succeeded, failed atomic.Int64 }

func (c *syncCounts) add(err error) {
	if err != nil {
		c.failed.Add(1)
		return
	}
	c.succeeded.Add(1)
}

// Syncs returns the numbers of syncs since the start that stored a response of
// the upstream, and of those that failed.
func (s *Syncer) Syncs() (succeeded, failed int64) {
	return s.counts.succeeded.Load(), s.counts.failed.Load()
}
