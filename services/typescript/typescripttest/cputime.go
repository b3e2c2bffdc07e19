package typescripttest

import (
	"syscall"
	"testing"
	"time"
)

// CPUTime returns how long this process has computed so far: what other
// programs do on the machine is not in it.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
