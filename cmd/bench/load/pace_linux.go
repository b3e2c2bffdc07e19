package load

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// fineTimer binds the goroutine to a thread that the kernel wakes on time: the
// runtime's own timers may fire a millisecond late on an idle machine. The
// thread ends with the goroutine, and its timer with it.
func fineTimer() {
	runtime.LockOSThread()
	// Without it the kernel may be 50 µs late, which is all that is lost.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// sleepUntil returns at the given time or shortly afterwards.
func sleepUntil(at time.Time) {
	for wait := time.Until(at); wait > 0; wait = time.Until(at) {
		span := unix.NsecToTimespec(wait.Nanoseconds())
		_ = unix.Nanosleep(&span, nil) // a signal ends it early, and the loop goes on
	}
}
