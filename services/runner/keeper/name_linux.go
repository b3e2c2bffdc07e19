package keeper

import (
	"os"
	"syscall"
)

// SetName sets the name of this process that tools such as ps show.
func SetName(name string) { _ = os.WriteFile("/proc/self/comm", []byte(name), 0) }

// runnerAttributes end the runner with its guard.
func runnerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
