//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcpgateway/services/sandbox"
)

// callsCommand starts this binary as a confined process that tries system
// calls.
const callsCommand = "confined-calls"

// lastCall is higher than every system call number of these architectures.
const lastCall = 600

// probeExit is the exit code of a probe that completed.
const probeExit = 7

func probeCalls() int {
	meter, err := os.Open("/proc/self/status") // as in a child
	if err != nil {
		fmt.Println(err)
		return 1
	}
	granted, err := sandbox.Confine()
	if err != nil || !slices.Contains(granted, "seccomp") {
		fmt.Println("confine:", granted, err)
		return 1
	}
	report := func(name string, err error) { fmt.Printf("%s: %v\n", name, err) }
	for _, w := range allowedWork(meter) {
		report("allowed "+w.name, w.try())
	}
	for _, d := range deniedCalls() {
		_, _, errno := syscall.Syscall6(d.number, d.arguments[0], d.arguments[1], d.arguments[2], d.arguments[3], 0, 0)
		report("denied "+d.name, errno)
	}
	_, _, errno := syscall.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	report("missing clone3", errno)
	permitted := permittedNumbers()
	for number := range uintptr(lastCall) {
		// The kernel's own probes (uretprobe and uprobe on amd64) pass all
		// filters and send a signal to any other caller.
		if slices.Contains(permitted, number) || number == unix.SYS_CLONE3 || number == 335 || number == 336 {
			continue
		}
		if _, _, errno := syscall.Syscall6(number, ^uintptr(0), ^uintptr(0), ^uintptr(0), 0, 0, 0); errno != syscall.EPERM {
			report("unlisted "+strconv.Itoa(int(number)), errno)
		}
	}
	return probeExit
}

// permittedNumbers are the system calls that may reach the kernel.
func permittedNumbers() []uintptr {
	return []uintptr{
		unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_BRK,
		unix.SYS_CLONE, unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
		unix.SYS_MEMBARRIER, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_TGKILL,
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_RESTART_SYSCALL,
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	}
}

type work struct {
	name string
	try  func() error
}

// allowedWork lists the work of a child by families of system calls.
func allowedWork(meter *os.File) []work {
	return []work{
		{"memory", useMemory},
		{"threads", useThreads},
		{"clocks", useClocks},
		{"pipes", usePipes},
		{"meter", func() error { _, err := meter.ReadAt(make([]byte, 16), 0); return err }},
		{"signals", useSignals},
		{"usage", func() error { var u unix.Rusage; return unix.Getrusage(unix.RUSAGE_SELF, &u) }},
		{"random", func() error { _, err := unix.Getrandom(make([]byte, 16), 0); return err }},
		{"random-library", func() error { _, err := rand.Read(make([]byte, 16)); return err }},
	}
}

func useMemory() error {
	m, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := unix.Mprotect(m, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return err
	}
	if err := unix.Madvise(m, unix.MADV_DONTNEED); err != nil {
		return err
	}
	heap := make([]byte, 64<<20)
	for i := 0; i < len(heap); i += 4 << 10 {
		heap[i] = 1
	}
	runtime.KeepAlive(heap)
	debug.FreeOSMemory()
	return unix.Munmap(m)
}

// useThreads starts and ends threads. A thread that its goroutine leaves locked
// ends with the goroutine.
func useThreads() error {
	const count = 8
	numbers := make(chan int, count)
	var started, done sync.WaitGroup
	started.Add(count)
	for range count {
		done.Go(func() {
			runtime.LockOSThread()
			numbers <- unix.Gettid()
			started.Done()
			started.Wait()
		})
	}
	done.Wait()
	close(numbers)
	seen := map[int]bool{}
	for n := range numbers {
		seen[n] = true
	}
	if len(seen) != count {
		return fmt.Errorf("%d threads", len(seen))
	}
	var set unix.CPUSet
	return unix.SchedGetaffinity(0, &set)
}

func useClocks() error {
	moment, now := unix.Timespec{Nsec: 1}, unix.Timespec{}
	for _, err := range []error{
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &now),
		unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &moment, nil),
		unix.Nanosleep(&moment, nil),
		unix.Gettimeofday(&unix.Timeval{}),
	} {
		if err != nil {
			return err
		}
	}
	<-time.After(time.Millisecond)
	return nil
}

func usePipes() error {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil || line != "question\n" {
		return fmt.Errorf("%q: %w", line, err)
	}
	_, err = fmt.Fprintln(os.Stderr, "answer")
	return err
}

// useSignals catches a signal and stops the world while a goroutine computes,
// for which Go uses signals.
func useSignals() error {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR1)
	runtime.LockOSThread()
	err := unix.Tgkill(unix.Getpid(), unix.Gettid(), syscall.SIGUSR1)
	runtime.UnlockOSThread()
	if err != nil {
		return err
	}
	<-caught
	var running, stop atomic.Bool
	var busy sync.WaitGroup
	busy.Go(func() {
		running.Store(true)
		for n := 0; !stop.Load(); n++ {
			for range 1 << 20 {
				n ^= n << 1
			}
		}
	})
	for !running.Load() {
		runtime.Gosched()
	}
	for range 20 {
		runtime.GC()
	}
	stop.Store(true)
	busy.Wait()
	return nil
}

type deniedCall struct {
	name      string
	number    uintptr
	arguments [4]uintptr
}

// deniedCalls have arguments that would be harmless if the calls were allowed.
func deniedCalls() []deniedCall {
	const bad = ^uintptr(0) // an invalid descriptor, process and address
	page := uintptr(os.Getpagesize())
	anonymous := uintptr(unix.MAP_PRIVATE | unix.MAP_ANON)
	text, _, _ := syscall.Syscall6(unix.SYS_MMAP, 0, page, unix.PROT_READ, anonymous, bad, 0)
	return []deniedCall{
		{"socket", unix.SYS_SOCKET, [4]uintptr{unix.AF_INET, unix.SOCK_STREAM}},
		{"socketpair", unix.SYS_SOCKETPAIR, [4]uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0, bad}},
		{"openat", unix.SYS_OPENAT, [4]uintptr{bad, bad}},
		{"execve", unix.SYS_EXECVE, [4]uintptr{bad}},
		{"ptrace", unix.SYS_PTRACE, [4]uintptr{bad}},
		{"mount", unix.SYS_MOUNT, [4]uintptr{bad, bad, bad}},
		{"keyctl", unix.SYS_KEYCTL, [4]uintptr{bad}},
		{"bpf", unix.SYS_BPF, [4]uintptr{bad}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [4]uintptr{1, bad}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, [4]uintptr{bad}},
		{"kill", unix.SYS_KILL, [4]uintptr{uintptr(os.Getpid())}},
		{"prctl", unix.SYS_PRCTL, [4]uintptr{unix.PR_GET_DUMPABLE}},
		{"eventfd2", unix.SYS_EVENTFD2, [4]uintptr{}},
		{"pipe2", unix.SYS_PIPE2, [4]uintptr{bad}},
		{"dup", unix.SYS_DUP, [4]uintptr{0}},
		{"fcntl", unix.SYS_FCNTL, [4]uintptr{0, unix.F_GETFD}},
		{"ioctl", unix.SYS_IOCTL, [4]uintptr{bad}},
		{"inotify_init1", unix.SYS_INOTIFY_INIT1, [4]uintptr{}},
		{"timerfd_create", unix.SYS_TIMERFD_CREATE, [4]uintptr{unix.CLOCK_MONOTONIC}},
		{"shmget", unix.SYS_SHMGET, [4]uintptr{0, 0, 0}},
		{"msgget", unix.SYS_MSGGET, [4]uintptr{bad, 0}},
		{"io_setup", unix.SYS_IO_SETUP, [4]uintptr{0, bad}},
		{"getppid", unix.SYS_GETPPID, [4]uintptr{}},
		{"uname", unix.SYS_UNAME, [4]uintptr{bad}},
		{"setpriority", unix.SYS_SETPRIORITY, [4]uintptr{unix.PRIO_PROCESS, 0, 19}},
		{"mmap of program text", unix.SYS_MMAP, [4]uintptr{0, page, unix.PROT_READ | unix.PROT_EXEC, anonymous}},
		{"mprotect to program text", unix.SYS_MPROTECT, [4]uintptr{text, page, unix.PROT_READ | unix.PROT_EXEC}},
		// The kernel rejects a shared signal table without shared memory.
		{"clone of a process", unix.SYS_CLONE, [4]uintptr{unix.CLONE_SIGHAND}},
		{"clone with a namespace", unix.SYS_CLONE, [4]uintptr{unix.CLONE_THREAD | unix.CLONE_NEWUSER}},
		{"tgkill of another process", unix.SYS_TGKILL, [4]uintptr{1, bad, 0}},
	}
}

// The work of a child succeeds. Other calls fail with EPERM, and so does every
// unlisted number. The process still exits normally.
func TestConfinedSystemCalls(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, callsCommand)
	command.Env = []string{}
	sandbox.Tame(command)
	command.Stdin = strings.NewReader("question\n")
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err = command.Run()
	t.Logf("\n%s", &out)
	if code := command.ProcessState.ExitCode(); code != probeExit {
		t.Fatalf("exit code %d: %v\n%s", code, err, &said)
	}
	if said.String() != "answer\n" {
		t.Errorf("output line %q", &said)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(out.String()) {
		kind, rest, _ := strings.Cut(line, " ")
		name, result, _ := strings.Cut(strings.TrimSpace(rest), ": ")
		kinds[kind]++
		want := map[string]string{"allowed": "<nil>", "denied": syscall.EPERM.Error(), "missing": syscall.ENOSYS.Error()}[kind]
		if result != want {
			t.Errorf("%s %s = %q, want %q", kind, name, result, want)
		}
	}
	if kinds["allowed"] != len(allowedWork(nil)) || kinds["denied"] != len(deniedCalls()) || kinds["missing"] != 1 {
		t.Errorf("calls tried = %v", kinds)
	}
}
