package sandbox

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// workerNice is the priority of a child: 0 is the usual one, 19 the lowest.
const workerNice = 10

// droppedMark is the only variable of a process that dropPrivileges started
// again.
const droppedMark = "GATEWAY_CODE_WORKER"

// dropPrivileges takes from every thread of this process its capabilities and
// the means to gain new ones. What the kernel refuses is left as it is; confine
// returns what was granted.
//
// Privileges belong to threads. A build with cgo cannot reach its other
// threads: there this thread drops its own, lowers its priority and starts the
// program again, which ends the others. It must be called before the process
// reads its input.
func dropPrivileges() {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0); errno != syscall.ENOTSUP {
		drop(true)
		return
	}
	if os.Getenv(droppedMark) != "" {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	drop(false)
	lowerPriority(false)
	// The signal belongs to the thread, too: without it the child could
	// outlive a gateway that was killed.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return
	}
	// Where the program cannot be started, seccomp still holds all threads.
	_ = unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), droppedMark+"=1"))
}

// drop runs the system calls of dropPrivileges on this thread or on all. A
// failed one does not prevent the others.
func drop(everywhere bool) {
	_ = call(everywhere, unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0)
	// The kernel has fewer capabilities than 64 and refuses the first number
	// that it does not have.
	for capability := uintptr(0); capability < 64; capability++ {
		if err := call(everywhere, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability, 0); err != nil {
			break
		}
	}
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	_ = call(everywhere, unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	_ = call(everywhere, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}

// lowerPriority sets the priority of this thread or of all, unless it is lower.
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

// hasNoCapabilities reports whether this thread has none that it could use or
// pass on.
func hasNoCapabilities() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	err := unix.Capget(&header, &have[0])
	return err == nil && have == [2]unix.CapUserData{}
}
