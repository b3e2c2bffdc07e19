package locks

import "time"

// OwnEvery sets the interval between attempts to become an owner, and between
// checks of the connection.
func (l *Locks) OwnEvery(d time.Duration) { l.interval = d }
