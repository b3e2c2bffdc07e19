package sandbox

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
func Tame(c *exec.Cmd) { tame(c) }

// NewStart returns what begins a run of code without tools.
func NewStart(code string, timeout time.Duration) StartMessage {
	return StartMessage{Code: code, Namespaces: []Namespace{}, MaxCalls: MaxCalls, TimeoutMS: timeout.Milliseconds(), CPUMillis: MaxCPU.Milliseconds()}
}

// StartFrame returns the bytes that begin a run in a child.
func StartFrame(code string, timeout time.Duration) []byte {
	var b bytes.Buffer
	if err := writeMessage(&b, frameStart, NewStart(code, timeout)); err != nil {
		return nil
	}
	return b.Bytes()
}

// AwaitWarm returns when a pool is full and starts no further child.
func AwaitWarm(p *Pool) {
	for {
		p.mu.Lock()
		ready, coming := len(p.idle), p.coming
		p.mu.Unlock()
		if ready >= warmChildren && coming == 0 {
			return
		}
		p.Refill()
		time.Sleep(time.Millisecond)
	}
}

// Drain does what a pool does when no run came for long.
func Drain(p *Pool) { p.drain() }

// KillWarm kills the waiting children and returns when they are gone.
func KillWarm(p *Pool) {
	p.mu.Lock()
	idle := append([]*Child{}, p.idle...)
	p.mu.Unlock()
	for _, c := range idle {
		c.end()
		<-c.gone
	}
}
