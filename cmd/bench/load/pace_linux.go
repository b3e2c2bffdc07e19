package load

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// fineTimer locks the goroutine to a thread with precise kernel timers. The
// timers of the Go runtime can fire a millisecond late on an idle machine. The
// thread ends with the goroutine.
func fineTimer() {
	runtime.LockOSThread()
	// If this fails, timers are up to 50 µs late, which is acceptable.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// sleepUntil returns at the given time or shortly after.
func sleepUntil(at time.Time) {
	for wait := time.Until(at); wait > 0; wait = time.Until(at) {
		span := unix.NsecToTimespec(wait.Nanoseconds())
		_ = unix.Nanosleep(&span, nil) // a signal can interrupt it; the loop then sleeps again
	}
}
