package rawconn

import (
	"sync/atomic"
	"time"
)

// sleepAtMost is how long the scheduler's thread may sleep while there is
// something to read.
const sleepAtMost = 10 * time.Millisecond

// Pace keeps the scheduler's thread awake for reads that are not announced. The
// thread sees to it that what other clients send is heard while a goroutine
// computes for long, and interrupts that one for them. It sleeps while there is
// nothing to do, until something is announced, but never past a timer. So the
// first read after a while is announced, and for those that follow there is
// always a timer about to end, which they put off again and again. A Pace is
// shared by any number of connections.
type Pace struct {
	start time.Time
	last  atomic.Int64 // time that the timer was set, in nanoseconds from start
	timer *time.Timer
}

// NewPace returns a Pace that nothing was read at so far.
func NewPace() *Pace {
	p := &Pace{start: time.Now(), timer: time.AfterFunc(sleepAtMost, func() {})}
	p.last.Store(-int64(sleepAtMost))
	return p
}

// first notes a read, and reports whether it is to be announced.
func (p *Pace) first() bool {
	now, last := time.Since(p.start), p.last.Load()
	passed := now - time.Duration(last)
	if passed < sleepAtMost/2 || !p.last.CompareAndSwap(last, int64(now)) {
		return false
	}
	p.timer.Reset(sleepAtMost)
	return passed >= sleepAtMost // the timer had ended
}
