//go:build linux || darwin

package process

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Times of a stop: what a program gets to end after the end of its input, and
// after SIGTERM.
const (
	inputGrace     = 2 * time.Second
	terminateGrace = 3 * time.Second
	killPause      = 10 * time.Millisecond
	scanPause      = time.Millisecond
)

// Stop ends the program: it closes its input, and if that does not suffice sends
// SIGTERM to its group, then SIGKILL. It returns when nothing that the program
// started is left. A done context skips the waiting.
func (p *Process) Stop(ctx context.Context) {
	p.closing.Do(func() {
		_ = p.stdin.Close()
		if !p.endsWithin(ctx, inputGrace) {
			_ = syscall.Kill(-p.pid, syscall.SIGTERM)
			p.endsWithin(ctx, terminateGrace)
		}
		p.killAll()
		<-p.done
		_, _ = p.stdout.Close(), p.stderr.Close()
	})
}

func (p *Process) endsWithin(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// killAll kills the program, its descendants and everything with its marker
// until none is left.
func (p *Process) killAll() {
	for scans := (scans{}); !scans.done(); {
		left, starting := tree(p.pid, p.owns)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-p.done: // its group can no longer be that of another process
		default:
			_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		}
		scans.next(left, starting)
	}
}

func (p *Process) owns(marker string) bool { return marker == p.marker }

// Numbers of scans of the system.
const (
	emptyScans    = 3  // consecutive ones must find no process: one can miss a process whose parent ends during it
	startingScans = 50 // at most this many wait for adopted processes that are starting
)

// scans counts scans of the system for processes to kill.
type scans struct{ empty, starting int }

func (s *scans) done() bool { return s.empty >= emptyScans }

// next waits before the next scan. starting reports whether the latest found a
// process that may belong to those to kill.
func (s *scans) next(left []int, starting bool) {
	switch {
	case len(left) > 0:
		s.empty = 0
		time.Sleep(killPause)
		return
	case starting && s.starting < startingScans:
		s.empty = 0
		s.starting++
	default:
		s.empty++
	}
	time.Sleep(scanPause)
}

// Tree returns the ids of the processes that belong to the program: itself, its
// descendants, and what has its marker. Processes that have ended but were not
// waited for are not among them.
func (p *Process) Tree() []int {
	all, _ := tree(p.pid, p.owns)
	return all
}

// Memory returns the resident memory of the processes in bytes. Pages that
// several of them share count for each.
func (p *Process) Memory() int64 {
	var sum int64
	for _, pid := range p.Tree() {
		sum += resident(pid)
	}
	return sum
}

// Sweep kills all processes whose marker belongs accepts, except this process,
// and returns their number. It returns when none is left.
func Sweep(belongs func(marker string) bool) int {
	return kill(0, belongs)
}

// End kills all descendants of this process and what Sweep kills. It returns
// when none is left.
func End(belongs func(marker string) bool) int {
	return kill(os.Getpid(), belongs)
}

// kill kills the descendants of root (0 for none) and the processes whose marker
// belongs accepts until none is left, and returns their number.
func kill(root int, belongs func(marker string) bool) int {
	killed := map[int]bool{}
	for scans := (scans{}); !scans.done(); {
		left, starting := tree(root, belongs)
		for _, pid := range left {
			killed[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		scans.next(left, starting)
	}
	return len(killed)
}
