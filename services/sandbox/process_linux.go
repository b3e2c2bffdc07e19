package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes give a child a session and a process group of its own, and
// its end with the thread that started it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills a child with everything that it may have started.
func killGroup(p *os.Process) {
	// The leader of a group that is gone is no error. The process was not
	// waited for yet, so its number is still its own.
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
}

// killed reports whether SIGKILL ended the process.
func killed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// limitCompiler bounds the memory and the processor time of the compiler.
func limitCompiler(pid int) {
	// The compiler's own time-out holds where the limits cannot be set.
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: compilerMemory, Max: compilerMemory}, nil)
	_ = unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: compilerSeconds, Max: compilerSeconds}, nil)
}
