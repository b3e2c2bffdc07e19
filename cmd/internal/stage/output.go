// Package stage starts the programs that conformance tests and benchmarks
// need, each in a process of its own, waits until they can be used and ends
// them by their own handle. One of them is a gateway with a database of its own.
package stage

import (
	"bytes"
	"sync"
)

// maxOutput is how many bytes of a program's output are kept, its end.
const maxOutput = 256 << 10

// output keeps the end of what a program printed and watches for the line
// that says that it is ready.
type output struct {
	match func(line string) (string, bool)
	ready chan string

	mu   sync.Mutex
	kept []byte
	line []byte // the beginning of the line that is being printed
}

// newOutput returns an output whose ready receives what match makes of the
// first line that it accepts; match may be nil.
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
		if said, found := o.match(string(o.line)); found {
			o.match = nil
			o.ready <- said
			return len(p), nil
		}
		o.line, rest = o.line[:0], after
	}
}

// String returns what is kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}
