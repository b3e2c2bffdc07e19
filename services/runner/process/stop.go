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
	for {
		left := p.Tree()
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-p.done: // its group can no longer be that of another process
		default:
			_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(killPause)
	}
}

// Tree returns the ids of the processes that belong to the program: itself, its
// descendants, and what has its marker. Processes that have ended but were not
// waited for are not among them.
func (p *Process) Tree() []int {
	return tree(p.pid, func(marker string) bool { return marker == p.marker })
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
	return kill(func() []int { return tree(0, belongs) })
}

// End kills all descendants of this process and what Sweep kills. It returns
// when none is left.
func End(belongs func(marker string) bool) int {
	return kill(func() []int { return tree(os.Getpid(), belongs) })
}

// kill kills the processes of a list until it is empty, and returns their
// number.
func kill(list func() []int) int {
	killed := map[int]bool{}
	for {
		left := list()
		for _, pid := range left {
			killed[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) == 0 {
			return len(killed)
		}
		time.Sleep(killPause)
	}
}
