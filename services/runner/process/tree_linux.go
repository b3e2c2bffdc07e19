package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processes returns the processes that have not ended.
func processes() []running {
	var all []running
	for _, pid := range pids() {
		if parent, zombie, ok := statOf(pid); ok && !zombie {
			all = append(all, running{pid, parent})
		}
	}
	return all
}

// pids returns the ids of all processes.
func pids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// statOf returns the parent of a process and whether it has ended (proc(5)).
func statOf(pid int) (parent int, zombie, ok bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false, false
	}
	// The name in parentheses can contain anything.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 2 {
		return 0, false, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[0] == "Z" || fields[0] == "X", err == nil
}

// hasMarker reports whether belongs accepts the marker in the environment that a
// process started with.
func hasMarker(pid int, belongs func(string) bool) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(raw, []byte{0}) {
		if marker, ok := bytes.CutPrefix(variable, []byte(Variable+"=")); ok && belongs(string(marker)) {
			return true
		}
	}
	return false
}

// isStarting reports whether a process may be executing a program: its environment
// is empty until the kernel has prepared the program.
func isStarting(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && len(raw) == 0
}

// resident returns the resident memory of a process in bytes.
func resident(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// reapAdopted waits for the children of this process that have ended, except
// those that isOwn reports.
func reapAdopted(isOwn func(pid int) bool) {
	self := os.Getpid()
	for _, pid := range pids() {
		if parent, zombie, ok := statOf(pid); ok && zombie && parent == self && !isOwn(pid) {
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil)
		}
	}
}

// Adopt assigns descendants whose parent ends to this process, instead of to the
// init process.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Hide forbids other processes of the user to read the memory and the
// environment of this process.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
