package sandbox

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confine permanently removes from this process what running code doesn't need:
// core dumps, new files and sockets, other programs, memory and processor time
// beyond their limits, and all but a few system calls. It returns what the
// kernel granted. Without Landlock or seccomp in the kernel the resource limits
// still apply. dropPrivileges must be called first.
func confine() (granted []string, err error) {
	// The filter below requires the effect of the first call on the same
	// thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Open descriptors stay usable, but no further one can be opened.
	limits := []struct {
		name     string
		resource int
		value    uint64
	}{
		{"no core dumps", unix.RLIMIT_CORE, 0},
		{"processor time", unix.RLIMIT_CPU, uint64((MaxCPU + 2*time.Second) / time.Second)},
		{"memory", unix.RLIMIT_DATA, dataSize() + memoryHeadroom},
		{"no new files", unix.RLIMIT_NOFILE, 0},
	}
	// Only now, so that a child becomes ready quickly even on a busy machine.
	lowerPriority(true)
	if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil && on == 1 {
		granted = append(granted, "no new privileges")
	}
	if hasNoCapabilities() {
		granted = append(granted, "no capabilities")
	}
	if err := landlock(); err == nil {
		granted = append(granted, "landlock")
	}
	for _, l := range limits {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return nil, err
		}
		granted = append(granted, l.name)
	}
	if err := seccomp(); err == nil {
		granted = append(granted, "seccomp")
	}
	return granted, nil
}

// dataSize returns the writable private memory of the process, in bytes, as
// counted by RLIMIT_DATA. Race detectors and large heaps make it very different
// between builds.
func dataSize() uint64 {
	if status, err := os.ReadFile(statusFile); err == nil {
		if size, found := sizeIn(status, "VmData"); found {
			return size
		}
	}
	return 1 << 40
}

const statusFile = "/proc/self/status"

// sizeIn returns a named size in bytes from the status file of a process
// (proc(5)).
func sizeIn(status []byte, name string) (size uint64, found bool) {
	for line := range strings.SplitSeq(string(status), "\n") {
		if size, found := strings.CutPrefix(line, name+":"); found {
			kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(size), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// memoryMeter measures the memory of this process. It keeps its file open,
// because a confined process can't open files. getrusage is not usable: a new
// program starts with the maximum size of its parent.
type memoryMeter struct{ status *os.File }

func newMemoryMeter() memoryMeter {
	file, err := os.Open(statusFile)
	if err != nil {
		return memoryMeter{}
	}
	return memoryMeter{file}
}

// peak returns the peak resident size in bytes, or 0 if unknown.
func (m memoryMeter) peak() int64 {
	if m.status == nil {
		return 0
	}
	text := make([]byte, 8<<10)
	n, err := m.status.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	size, _ := sizeIn(text[:n], "VmHWM")
	return int64(size)
}

// landlock forbids all access to files and TCP (Linux 5.13 and later). It must
// apply to every thread. A build with cgo can't do that and relies on the other
// measures.
func landlock() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errno
	}
	// Each ABI version supports more rights. Requesting an unsupported right is
	// an error.
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: 1<<13 - 1}
	size := unsafe.Sizeof(attributes.Handled_access_fs)
	if version >= 2 {
		attributes.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		attributes.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		attributes.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size += unsafe.Sizeof(attributes.Handled_access_net)
	}
	if version >= 5 {
		attributes.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		attributes.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size += unsafe.Sizeof(attributes.Scoped)
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(ruleset))
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// usedByProcess returns the processor time used by the process.
func usedByProcess() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
