package locks

import "time"

// OwnEvery sets the interval between attempts to acquire a lock in Own, and
// between checks of the connection.
func (l *Locks) OwnEvery(d time.Duration) { l.interval = d }
