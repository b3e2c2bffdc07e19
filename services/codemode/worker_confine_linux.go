package codemode

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
// core dumps, new files and sockets, other programs, memory beyond its cap
// and processor time beyond its limit. It returns what the kernel granted. A
// kernel without Landlock or seccomp still gives the limits.
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
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
		granted = append(granted, "no new privileges")
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
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// seccomp makes the system calls that reach files, networks, other programs
// and the kernel's rarer parts fail with EPERM, in every thread.
func seccomp() error {
	const (
		offsetNumber = 0 // in struct seccomp_data
		offsetArch   = 4
		offsetFlags  = 16 // the first argument's lower half
		deny         = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	)
	if seccompArch == 0 {
		return errors.ErrUnsupported
	}
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	jump := func(code uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no}
	}
	const (
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		bits    = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		answer  = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		statement(load, offsetArch), jump(equal, seccompArch, 1, 0), statement(answer, deny),
		// The x32 numbers are a second spelling of the same calls.
		statement(load, offsetNumber), jump(atLeast, 0x40000000, 0, 1), statement(answer, deny),
		// A thread may be made, a process may not. The C library falls back
		// to clone when clone3 is not there.
		jump(equal, unix.SYS_CLONE3, 0, 1), statement(answer, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
		jump(equal, unix.SYS_CLONE, 0, 4), statement(load, offsetFlags), jump(bits, unix.CLONE_THREAD, 1, 0), statement(answer, deny), statement(answer, unix.SECCOMP_RET_ALLOW),
	}
	for _, number := range append(deniedCalls(), deniedHere()...) {
		filter = append(filter, jump(equal, uint32(number), 0, 1), statement(answer, deny))
	}
	filter = append(filter, statement(answer, unix.SECCOMP_RET_ALLOW))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// deniedCalls are the system calls, by their numbers, that all architectures
// have and running code needs none of.
func deniedCalls() []uintptr {
	return []uintptr{
		unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET,
		unix.SYS_UNLINKAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_MKDIRAT, unix.SYS_MKNODAT,
		unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT, unix.SYS_TRUNCATE, unix.SYS_CHDIR, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_OPEN_TREE, unix.SYS_STATX, unix.SYS_READLINKAT, unix.SYS_FACCESSAT,
		unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVMSG,
		unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KILL, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_KEXEC_LOAD,
		unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID, unix.SYS_CAPSET, unix.SYS_SETRLIMIT, unix.SYS_PRLIMIT64,
	}
}

// usedByProcess returns the processor time that the process used.
func usedByProcess() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
