package sandbox

import (
	"bytes"
	"os/exec"
	"strings"
	"time"
)

// PreludeLines is the number of lines of the prelude, UserLine the first line of
// compiled code.
var PreludeLines = strings.Count(prelude, "\n") + 1

const UserLine = userLine

// Confine confines the calling process like a child.
func Confine() ([]string, error) {
	dropPrivileges()
	return confine()
}

// Tame calls tame.
func Tame(c *exec.Cmd) { tame(c) }

// NewStart returns the start message of a run without tools.
func NewStart(code string, timeout time.Duration) StartMessage {
	return StartMessage{Code: code, Namespaces: []Namespace{}, MaxCalls: MaxCalls, TimeoutMS: timeout.Milliseconds(), CPUMillis: MaxCPU.Milliseconds()}
}

// StartFrame returns the frame that starts a run in a child.
func StartFrame(code string, timeout time.Duration) []byte {
	var b bytes.Buffer
	if err := writeMessage(&b, frameStart, NewStart(code, timeout)); err != nil {
		return nil
	}
	return b.Bytes()
}

// AwaitWarm waits until a pool is full and starts no further child.
func AwaitWarm(p *Pool) {
	for {
		p.mu.Lock()
		ready, coming := len(p.idle), p.starting
		p.mu.Unlock()
		if ready >= warmChildren && coming == 0 {
			return
		}
		p.Refill()
		time.Sleep(time.Millisecond)
	}
}

// Drain drains a pool as after its idle timeout.
func Drain(p *Pool) { p.drain() }

// KillWarm kills the waiting children and returns when they have exited.
func KillWarm(p *Pool) {
	p.mu.Lock()
	idle := append([]*Child{}, p.idle...)
	p.mu.Unlock()
	for _, c := range idle {
		c.end()
		<-c.gone
	}
}
