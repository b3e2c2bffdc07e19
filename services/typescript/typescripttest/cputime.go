package typescripttest

import (
	"syscall"
	"testing"
	"time"
)

// CPUTime returns the processor time used by this process so far. It excludes
// other load on the machine.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
