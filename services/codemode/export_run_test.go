package codemode

import (
	"bytes"
	"os/exec"
	"time"
)

// Confine confines the calling process as a child is confined.
func Confine() ([]string, error) {
	dropPrivileges()
	return confine()
}

// Tame lets a command end with this process, and together with everything that
// it started.
func Tame(c *exec.Cmd) {
	c.SysProcAttr = childAttributes()
	c.Cancel = func() error { killGroup(c.Process); return nil }
	c.WaitDelay = time.Second
}

// StartFrame returns the bytes that begin a run in a child.
func StartFrame(code string, timeout time.Duration) []byte {
	q := Request{Code: code, Timeout: timeout, Seed: newSeed(time.Now())}
	var b bytes.Buffer
	if err := writeMessage(&b, frameStart, q.start(timeout)); err != nil {
		return nil
	}
	return b.Bytes()
}

// HoldResults returns which results of these sizes, all on their way to the
// code of one run, are let through.
func HoldResults(sizes ...int) []bool {
	var r run
	var through []bool
	for _, size := range sizes {
		out, _ := r.hold(reply{status: answerText, data: make([]byte, size)})
		through = append(through, out.failure == nil)
	}
	return through
}

// CutJSON is cutJSON.
func CutJSON(raw []byte, limit int) []byte { return cutJSON(raw, limit) }

// AwaitWarm returns when the pool is full and starts no further child.
func AwaitWarm(r *Runner) {
	for {
		r.pool.mu.Lock()
		ready, coming := len(r.pool.idle), r.pool.coming
		r.pool.mu.Unlock()
		if ready >= warmChildren && coming == 0 {
			return
		}
		r.pool.refill()
		time.Sleep(time.Millisecond)
	}
}

// WarmChildren returns how many children of the pool wait.
func WarmChildren(r *Runner) int {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	return len(r.pool.idle)
}

// Drain does what the pool does when no run came for long.
func Drain(r *Runner) { r.pool.drain() }

// KillWarm kills the waiting children and returns when they are gone.
func KillWarm(r *Runner) {
	r.pool.mu.Lock()
	idle := append([]*child{}, r.pool.idle...)
	r.pool.mu.Unlock()
	for _, c := range idle {
		c.end()
		<-c.gone
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
