package sandbox

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// workerNice is the nice value of a child: 0 is the default, 19 the lowest
// priority.
const workerNice = 10

// droppedEnv is the only environment variable of a process that dropPrivileges
// executed again.
const droppedEnv = "GATEWAY_CODE_WORKER"

// dropPrivileges removes the capabilities of every thread of this process and
// the means to gain new ones. It ignores failures; confine returns what was
// granted.
//
// Privileges belong to threads. A build with cgo can't reach its other threads.
// There this thread drops its own, lowers its priority and executes the program
// again, which ends the other threads. dropPrivileges must be called before the
// process reads its input.
func dropPrivileges() {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0); errno != syscall.ENOTSUP {
		drop(true)
		return
	}
	if os.Getenv(droppedEnv) != "" {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	drop(false)
	lowerPriority(false)
	// The death signal also belongs to the thread. Without it the child could
	// outlive a gateway that was killed.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return
	}
	// If exec fails, seccomp still restricts all threads.
	_ = unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), droppedEnv+"=1"))
}

// drop runs the system calls of dropPrivileges on this thread or on all
// threads. It continues after failures.
func drop(everywhere bool) {
	_ = call(everywhere, unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0)
	// The kernel has fewer than 64 capabilities and rejects the first unused
	// number.
	for capability := uintptr(0); capability < 64; capability++ {
		if err := call(everywhere, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability, 0); err != nil {
			break
		}
	}
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	_ = call(everywhere, unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	_ = call(everywhere, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}

// lowerPriority sets the priority of this thread or of all threads, unless it
// is already lower.
func lowerPriority(everywhere bool) {
	if priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && 20-priority < workerNice {
		_ = call(everywhere, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, workerNice)
	}
}

// call runs a system call on this thread, which must be locked, or on all.
//
//go:uintptrescapes
func call(everywhere bool, trap, a1, a2, a3 uintptr) error {
	var errno syscall.Errno
	if everywhere {
		_, _, errno = syscall.AllThreadsSyscall(trap, a1, a2, a3)
	} else {
		_, _, errno = syscall.RawSyscall(trap, a1, a2, a3)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// hasNoCapabilities reports whether this thread has no capabilities that it
// could use or pass to another program.
func hasNoCapabilities() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	err := unix.Capget(&header, &have[0])
	return err == nil && have == [2]unix.CapUserData{}
}
