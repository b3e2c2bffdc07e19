package codemode

import (
	"time"

	"mcpgateway/services/sandbox"
)

// HoldResults returns which results of these sizes, all on their way to the
// code of one run, are let through.
func HoldResults(sizes ...int) []bool {
	var r run
	var through []bool
	for _, size := range sizes {
		out, _ := r.hold(reply{status: sandbox.AnswerText, data: make([]byte, size)})
		through = append(through, out.failure == nil)
	}
	return through
}

// AwaitWarm returns when the pool of a runner is full.
func AwaitWarm(r *Runner) {
	for r.pool.Warm() < 2 {
		r.pool.Refill()
		time.Sleep(time.Millisecond)
	}
}

// LimitKept sets how many bytes of declarations are kept.
func LimitKept(d *Declarations, bytes int) { d.limit = bytes }

// Kept returns how many bytes of declarations are kept, of how many projects.
func Kept(d *Declarations) (bytes, projects int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size, len(d.kept)
}
