package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes give a child its own session and process group. The child is
// killed when the thread that started it exits.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills a child and everything that it started.
func killGroup(p *os.Process) {
	// A process group that no longer exists is not an error. The process has
	// not been waited for, so its PID is still valid.
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
}

// killed reports whether SIGKILL ended the process.
func killed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// limitCompiler limits the memory and the processor time of the compiler.
func limitCompiler(pid int) {
	// If the limits can't be set, the compiler's timeout still applies.
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: compilerMemory, Max: compilerMemory}, nil)
	_ = unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: compilerSeconds, Max: compilerSeconds}, nil)
}
