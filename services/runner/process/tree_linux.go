package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tree returns the processes that descend from root (0 for none) or whose marker
// belongs accepts. This process is never among them, nor are processes that have
// ended.
func tree(root int, belongs func(marker string) bool) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	self, parents, members := os.Getpid(), map[int]int{}, map[int]bool{}
	var order []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == self {
			continue
		}
		parent, zombie, ok := statOf(pid)
		switch {
		case !ok:
			continue
		case zombie:
			continue
		}
		parents[pid] = parent
		order = append(order, pid)
		members[pid] = pid == root || hasMarker(pid, belongs)
	}
	var found []int
	for _, pid := range order {
		for at, steps := pid, 0; at > 1 && steps < len(parents); at, steps = parents[at], steps+1 {
			if members[at] || root != 0 && at == root {
				found = append(found, pid)
				break
			}
		}
	}
	return found
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
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	self := os.Getpid()
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
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
