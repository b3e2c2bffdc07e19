//go:build local

package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// procStat is a process, from /proc.
type procStat struct {
	pid, parent int
	name, state string
}

// processes returns all processes of the machine.
func processes(t *testing.T) []procStat {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var all []procStat
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		open, shut := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
		pid, _ := strconv.Atoi(strings.TrimSpace(string(raw[:open])))
		rest := strings.Fields(string(raw[shut+1:]))
		parent, _ := strconv.Atoi(rest[1])
		all = append(all, procStat{pid: pid, parent: parent, name: string(raw[open+1 : shut]), state: rest[0]})
	}
	return all
}

// below returns the processes that descend from pid, with ended ones whose
// parent did not wait for them.
func below(t *testing.T, pid int) []procStat {
	t.Helper()
	all := processes(t)
	found := map[int]bool{pid: true}
	var list []procStat
	for more := true; more; {
		more = false
		for _, p := range all {
			if found[p.parent] && !found[p.pid] {
				found[p.pid], more = true, true
				list = append(list, p)
			}
		}
	}
	return list
}

// guardAndRunner returns the process ids of the helpers, or 0.
func (w *localWorld) guardAndRunner(t *testing.T) (guard, runner int) {
	t.Helper()
	all := processes(t)
	for _, p := range all {
		if p.parent == w.gateway.cmd.Process.Pid && p.name == "gw-guard" && p.state != "Z" {
			guard = p.pid
		}
	}
	for _, p := range all {
		if guard != 0 && p.parent == guard && p.state != "Z" && !slices.Contains(w.programs(), p.pid) {
			runner = p.pid
		}
	}
	return guard, runner
}

// programs returns the process ids of the programs and their children.
func (w *localWorld) programs() []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(raw, append([]byte(w.mock), 0)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		pids = append(pids, pid)
	}
	return pids
}

// alive returns those of the processes that have not ended.
func alive(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || bytes.Contains(raw, []byte(") Z "))
	})
}

// isMarked reports whether a process has the marker of its runner.
func isMarked(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(raw, []byte("GATEWAY_RUNNER="))
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatalf("descriptors of %d, which only root can list: %v", pid, err)
	}
	return len(entries)
}

// memoryOf returns the resident memory of a process in bytes.
func memoryOf(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func kill(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %d: %v", pid, err)
		}
	}
}

// gone waits until the processes have ended and returns the time it took.
func gone(t *testing.T, what string, pids []int) time.Duration {
	t.Helper()
	began := time.Now()
	for len(alive(pids)) > 0 {
		if time.Since(began) > goneLimit {
			t.Errorf("%s: %d of %d processes left after %v", what, len(alive(pids)), len(pids), goneLimit)
			kill(t, alive(pids)...)
			break
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}
