package quotas

// Held returns the number of counters in memory.
func (q *Quotas) Held() int64 { return q.held.Load() }
