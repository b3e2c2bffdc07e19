//go:build linux

package supervise_test

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/supervise"
)

// TestStartsAndStopsLeaveNothing starts and stops programs that leave children
// outside their process groups.
func TestStartsAndStopsLeaveNothing(t *testing.T) {
	w := newWorld(t, 0)
	const forking = `setsid sleep 1000 & ` + serving
	cycle := func(p *supervise.Program) {
		w.acquire(p, "").End()
		w.untilProcesses(p, 0)
		w.starter.Reap()
	}
	var programs []*supervise.Program
	for range 4 {
		p := w.program(script("s", forking))
		programs = append(programs, p)
		cycle(p)
	}
	open, goroutines := descriptors(t), runtime.NumGoroutine()
	began := time.Now()
	var all sync.WaitGroup
	for _, p := range programs {
		all.Go(func() {
			for range churns / len(programs) {
				cycle(p)
			}
		})
	}
	all.Wait()
	t.Logf("%d starts and stops in %v", churns, time.Since(began))
	w.until("the goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := descriptors(t); now > open {
		t.Errorf("%d descriptors, before %d", now, open)
	}
	if left := process.Sweep(func(marker string) bool {
		return len(marker) > len(w.runner) && marker[:len(w.runner)+1] == w.runner+"."
	}); left != 0 {
		t.Errorf("%d processes are left", left)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
