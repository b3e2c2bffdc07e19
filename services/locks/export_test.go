package locks

import "time"

// OwnEvery sets how often ownership is tried and looked after.
func (l *Locks) OwnEvery(d time.Duration) { l.interval = d }
