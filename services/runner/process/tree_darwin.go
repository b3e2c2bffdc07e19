package process

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// tree returns the processes that descend from root (0 for none) or whose marker
// belongs accepts. This process is never among them.
func tree(root int, belongs func(marker string) bool) []int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	const zombie = 5 // SZOMB of <sys/proc.h>
	self, parents := os.Getpid(), map[int]int{}
	members := map[int]bool{}
	var order []int
	for i := range all {
		pid := int(all[i].Proc.P_pid)
		if pid == self || all[i].Proc.P_stat == zombie {
			continue
		}
		parents[pid] = int(all[i].Eproc.Ppid)
		order = append(order, pid)
		members[pid] = pid == root || hasMarker(pid, belongs)
	}
	var found []int
	for _, pid := range order {
		for at, steps := pid, 0; at > 1 && steps < len(parents); at, steps = parents[at], steps+1 {
			if members[at] {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

// hasMarker reports whether belongs accepts the marker in the environment that a
// process started with.
func hasMarker(pid int, belongs func(string) bool) bool {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
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

// resident returns 0: the memory of other processes is not measured here.
func resident(int) int64 { return 0 }

// reapAdopted does nothing: without subreapers there are no adopted children.
func reapAdopted(func(pid int) bool) {}

// Adopt does nothing: this operating system has no subreapers.
func Adopt() error { return nil }

// Hide does nothing: the environment of a process is readable by its user.
func Hide() error { return nil }
