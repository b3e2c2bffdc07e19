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

// confine takes from this process what running code does not need, for good:
// core dumps, new files and sockets, other programs, memory beyond its cap,
// processor time beyond its limit and all but a few system calls. It returns
// what the kernel granted. A kernel without Landlock or seccomp still gives
// the limits. dropPrivileges must be called before.
func confine() (granted []string, err error) {
	// The filter below needs the first call's effect on its own thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Descriptors that are open stay usable; no further one can be opened.
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
	// Only now: a child should be ready soon on a busy machine, too.
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

// dataSize returns the writable private memory of the process, in bytes: what
// RLIMIT_DATA counts. Race detectors and large heaps make it differ by far
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

// sizeIn returns a size of a process in bytes, by its name in proc(5)'s status.
func sizeIn(status []byte, name string) (size uint64, found bool) {
	for line := range strings.SplitSeq(string(status), "\n") {
		if size, found := strings.CutPrefix(line, name+":"); found {
			kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(size), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// memoryMeter tells the memory of this process. It holds its file open, since
// a confined process can open none. The resource usage of the system does not
// do: a new program begins with the largest size of the one that started it.
type memoryMeter struct{ status *os.File }

func newMemoryMeter() memoryMeter {
	file, err := os.Open(statusFile)
	if err != nil {
		return memoryMeter{}
	}
	return memoryMeter{file}
}

// peak returns the largest size in memory so far, in bytes; 0 is unknown.
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

// landlock forbids every access to files and TCP (Linux 5.13 and later). It
// must reach every thread; a build with cgo cannot do that and relies on the
// other means.
func landlock() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errno
	}
	// Each version of the interface knows more rights; asking for one that
	// it does not know is an error.
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

// usedByProcess returns the processor time that the process used.
func usedByProcess() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
