// Package stage starts the processes of conformance tests and benchmarks, waits
// until they are ready, and stops them. One of them is a gateway with its own
// database.
package stage

import (
	"bytes"
	"sync"
)

// maxOutput is the maximum number of retained output bytes.
const maxOutput = 256 << 10

// output retains the end of a program's output and scans it for the ready line.
type output struct {
	match func(line string) (string, bool)
	ready chan string

	mu   sync.Mutex
	kept []byte
	line []byte // incomplete last line
}

// newOutput returns an output. Its channel ready receives the result of match for
// the first line that match accepts. match may be nil.
func newOutput(match func(line string) (string, bool)) *output {
	return &output{match: match, ready: make(chan string, 1)}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, p...)
	if over := len(o.kept) - maxOutput; over > 0 {
		o.kept = append(o.kept[:0], o.kept[over:]...)
	}
	if o.match == nil {
		return len(p), nil
	}
	for rest := p; ; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), maxOutput-len(o.line))]...)
		if !whole {
			return len(p), nil
		}
		if value, found := o.match(string(o.line)); found {
			o.match = nil
			o.ready <- value
			return len(p), nil
		}
		o.line, rest = o.line[:0], after
	}
}

// String returns the retained output.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}
