package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Identity identifies a process: its id can be assigned again.
type Identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // boot and time of the start
}

// Unmarked returns the descendants of this process that have cleared their
// environment, so that Sweep could not find them after its end.
func Unmarked() (found []Identity) {
	boot := bootID()
	descendants, _ := tree(os.Getpid(), func(string) bool { return false })
	for _, pid := range descendants {
		if start := startOf(boot, pid); start != "" && !hasMarker(pid, func(string) bool { return true }) {
			found = append(found, Identity{pid, start})
		}
	}
	return found
}

// KillSame kills the processes that still exist and returns their number.
func KillSame(list []Identity) (killed int) {
	boot := bootID()
	for _, one := range list {
		if one.PID > 1 && one.Start != "" && startOf(boot, one.PID) == one.Start && syscall.Kill(one.PID, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

func bootID() string {
	raw, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it no process is identified
	return strings.TrimSpace(string(raw))
}

// startOf returns when a process started, or "" if it has ended (proc(5)).
func startOf(boot string, pid int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil || boot == "" {
		return ""
	}
	const startTime = 19 // index after the name
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) <= startTime || fields[0] == "Z" {
		return ""
	}
	return boot + " " + fields[startTime]
}
