package codemode

import (
	"time"

	"mcpgateway/services/sandbox"
)

// HoldResults reports for each result size whether one run accepts it while all
// of them are being sent to the code.
func HoldResults(sizes ...int) []bool {
	var r run
	var through []bool
	for _, size := range sizes {
		out, _ := r.hold(reply{status: sandbox.ReplyText, data: make([]byte, size)})
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

// LimitKept sets the cache limit in bytes.
func LimitKept(d *Declarations, bytes int) { d.limit = bytes }

// Kept returns the bytes and the number of projects in the cache.
func Kept(d *Declarations) (bytes, projects int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size, len(d.kept)
}
