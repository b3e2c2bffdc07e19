package measure

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of processor time in /proc/PID/stat (proc(5), USER_HZ).
const tick = 10 * time.Millisecond

// Memory is the resident memory of a process, in bytes.
type Memory struct{ Now, Peak int64 }

// CPU returns the processor time that a process has used, in steps of 10 ms.
func CPU(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, err
	}
	return ParseStat(raw)
}

// MemoryOf returns the resident memory of a process now and its peak since
// ForgetPeak, or since the process began.
func MemoryOf(pid int) (Memory, error) {
	raw, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return Memory{}, err
	}
	return ParseStatus(raw)
}

// ForgetPeak lets the peak of a process's memory begin anew (proc(5),
// clear_refs).
func ForgetPeak(pid int) error { return os.WriteFile(procFile(pid, "clear_refs"), []byte("5"), 0) }

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// ParseStat returns the processor time, user and system, from the contents of
// /proc/PID/stat.
func ParseStat(raw []byte) (time.Duration, error) {
	// The name of the program stands in parentheses and may hold any byte.
	end := bytes.LastIndexByte(raw, ')')
	fields := bytes.Fields(raw[end+1:])
	const user, system = 11, 12 // counted from the state, which follows the name
	if end < 0 || len(fields) <= system {
		return 0, errors.New("this is not the stat of a process")
	}
	var ticks int64
	for _, field := range fields[user : system+1] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the stat of a process holds %q as processor time", field)
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
			return Memory{}, fmt.Errorf("the status of a process holds %q as memory", bytes.TrimSpace(line))
		}
		*to = n << 10
	}
	if m.Now == 0 || m.Peak == 0 {
		return Memory{}, errors.New("the status of the process tells no memory; has it ended?")
	}
	return m, nil
}
