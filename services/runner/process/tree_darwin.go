package process

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// processes returns the processes that have not ended.
func processes() []running {
	rows, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	const zombie = 5 // SZOMB of <sys/proc.h>
	var all []running
	for i := range rows {
		if rows[i].Proc.P_stat != zombie {
			all = append(all, running{int(rows[i].Proc.P_pid), int(rows[i].Eproc.Ppid)})
		}
	}
	return all
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

// isStarting reports false: children of others are not adopted.
func isStarting(int) bool { return false }
