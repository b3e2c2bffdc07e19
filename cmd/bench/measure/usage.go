package measure

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of CPU time in /proc/PID/stat (proc(5), USER_HZ).
const tick = 10 * time.Millisecond

// Memory is the resident memory of a process, in bytes.
type Memory struct{ Now, Peak int64 }

// CPU returns the CPU time of a process, in steps of 10 ms.
func CPU(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, err
	}
	return ParseStat(raw)
}

// MemoryOf returns the current resident memory of a process and its peak since
// ResetPeak or the start of the process.
func MemoryOf(pid int) (Memory, error) {
	raw, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return Memory{}, err
	}
	return ParseStatus(raw)
}

// ResetPeak resets the memory peak of a process (proc(5), clear_refs).
func ResetPeak(pid int) error { return os.WriteFile(procFile(pid, "clear_refs"), []byte("5"), 0) }

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// ParseStat returns the CPU time, user plus system, from the contents of
// /proc/PID/stat.
func ParseStat(raw []byte) (time.Duration, error) {
	// The program's name is in parentheses and can contain any byte.
	end := bytes.LastIndexByte(raw, ')')
	fields := bytes.Fields(raw[end+1:])
	const user, system = 11, 12 // counted from the state, the field after the name
	if end < 0 || len(fields) <= system {
		return 0, errors.New("invalid /proc/PID/stat")
	}
	var ticks int64
	for _, field := range fields[user : system+1] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("invalid CPU time %q in /proc/PID/stat", field)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// ParseStatus returns the resident memory from the contents of
// /proc/PID/status.
func ParseStatus(raw []byte) (Memory, error) {
	var m Memory
	for line := range bytes.Lines(raw) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		var to *int64
		switch string(name) {
		case "VmRSS":
			to = &m.Now
		case "VmHWM":
			to = &m.Peak
		default:
			continue
		}
		kib, found := bytes.CutSuffix(bytes.TrimSpace(value), []byte(" kB"))
		n, err := strconv.ParseInt(string(kib), 10, 64)
		if !found || err != nil {
			return Memory{}, fmt.Errorf("invalid memory size %q in /proc/PID/status", bytes.TrimSpace(line))
		}
		*to = n << 10
	}
	if m.Now == 0 || m.Peak == 0 {
		return Memory{}, errors.New("no memory sizes in /proc/PID/status; the process may have exited")
	}
	return m, nil
}
