//go:build amd64 || arm64

package sandbox

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The fields of struct seccomp_data that a filter reads. Of an argument it
// reads only the lower half: the kernel uses no more for the flags and numbers
// compared here.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
	argumentSize    = 8
)

const (
	allow   = unix.SECCOMP_RET_ALLOW
	deny    = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// threadFlags are the clone flags that start a thread, in Go and in the C
// library. A process, a namespace or a traced thread needs other flags.
const threadFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM |
	unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_SETTID | unix.CLONE_CHILD_CLEARTID | unix.CLONE_DETACHED

// seccomp restricts every thread to the allowed system calls; all others fail
// with EPERM.
func seccomp() error {
	rules := filter{}
	rules.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offsetArch)
	rules.unless(unix.BPF_JEQ, seccompArch, deny)
	rules.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offsetNumber)
	for _, number := range allowedCalls() {
		rules.when(unix.BPF_JEQ, uint32(number), allow)
	}
	// The C library falls back to clone, whose flags a filter can check.
	rules.when(unix.BPF_JEQ, unix.SYS_CLONE3, missing)
	rules.forCall(unix.SYS_CLONE, 0, func(r *filter) {
		r.unless(unix.BPF_JSET, unix.CLONE_THREAD, deny)
		r.when(unix.BPF_JSET, ^uint32(threadFlags), deny)
	})
	for _, number := range []uint32{unix.SYS_MMAP, unix.SYS_MPROTECT} {
		rules.forCall(number, 2, func(r *filter) { r.when(unix.BPF_JSET, unix.PROT_EXEC, deny) })
	}
	// Go preempts its threads with signals. No other process may receive one.
	rules.forCall(unix.SYS_TGKILL, 0, func(r *filter) { r.unless(unix.BPF_JEQ, uint32(os.Getpid()), deny) })
	rules.add(unix.BPF_RET|unix.BPF_K, deny)

	program := unix.SockFprog{Len: uint16(len(rules)), Filter: &rules[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// allowedCalls are the system calls that the Go runtime, the C library's
// threads and the protocol of a run need, with any arguments. None of them
// opens, creates or renames a file, or affects another process.
func allowedCalls() []uintptr {
	return []uintptr{
		// Memory; new mappings are handled below.
		unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_BRK,
		// Threads.
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER,
		unix.SYS_GETPID, unix.SYS_GETTID,
		// Clocks.
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_RESTART_SYSCALL,
		// Open files: the pipes to the gateway, the memory meter and the
		// runtime's poller.
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
		// Signals.
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		// The process itself, and its exit.
		unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	}
}

// filter is a seccomp program being built.
type filter []unix.SockFilter

func (f *filter) add(code uint16, operand uint32) {
	*f = append(*f, unix.SockFilter{Code: code, K: operand})
}

// when returns action if the comparison is true.
func (f *filter) when(comparison uint16, operand, action uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | comparison, K: operand, Jf: 1})
	f.add(unix.BPF_RET|unix.BPF_K, action)
}

// unless returns action if the comparison is false.
func (f *filter) unless(comparison uint16, operand, action uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | comparison, K: operand, Jt: 1})
	f.add(unix.BPF_RET|unix.BPF_K, action)
}

// forCall allows one system call. check, which compares one of its arguments,
// can return another action first.
func (f *filter) forCall(number uint32, argument int, check func(*filter)) {
	var rules filter
	rules.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, uint32(offsetArguments+argument*argumentSize))
	check(&rules)
	rules.add(unix.BPF_RET|unix.BPF_K, allow)
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ, K: number, Jf: uint8(len(rules))})
	*f = append(*f, rules...)
}
