package programtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"mcpgateway/services/rawjson"
)

// garbage is a line that is not a message.
const garbage = "0123456789abcdefghijklmnopqrstuvwxyz, not a message of the protocol at all ..\n"

// writer writes messages, with garbage before each of them.
type writer struct {
	mu      sync.Mutex
	to      io.Writer
	garbage int
}

// Write writes a message, which must be complete.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range w.garbage {
		if _, err := io.WriteString(w.to, garbage); err != nil {
			return 0, err
		}
	}
	return w.to.Write(p)
}

// pour writes the flood of the program.
func (p *Program) pour(ctx context.Context, out *writer, trouble io.Writer) {
	target, left, err := p.flood()
	if err != nil || target == "" {
		return
	}
	chunk := strings.Repeat(garbage, 400)
	write := func(s string) error {
		if target == "stderr" {
			_, err := io.WriteString(trouble, s)
			return err
		}
		out.mu.Lock()
		defer out.mu.Unlock()
		_, err := io.WriteString(out.to, s)
		return err
	}
	go func() {
		for ctx.Err() == nil && left != 0 {
			s := chunk
			if left > 0 && left < int64(len(s)) {
				s = s[:left-1] + "\n"
			}
			if write(s) != nil {
				return
			}
			if left > 0 {
				left -= int64(len(s))
			}
		}
	}()
}

func newLines(in io.Reader) *bufio.Reader { return bufio.NewReaderSize(in, 64<<10) }

// reader reads messages and applies the faults of the program to them.
type reader struct {
	program *Program
	from    *bufio.Reader
	trouble io.Writer
	stop    <-chan struct{}

	rest []byte // of the message that is being read
	seen int
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.program.Unread >= 0 && r.seen >= r.program.Unread {
			<-r.stop
			return 0, io.EOF
		}
		line, err := r.from.ReadBytes('\n')
		if err != nil {
			if r.program.Survive {
				<-r.stop
			}
			return 0, io.EOF
		}
		r.seen++
		if r.passes(line) {
			r.rest = line
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// passes reports whether the server receives the message. It exits the process
// if the program crashes at it.
func (r *reader) passes(line []byte) bool {
	method := ""
	if o, err := rawjson.ParseObject(line, rawjson.Lenient); err == nil {
		method, _ = o.String("method")
	}
	p := r.program
	switch {
	case p.Crash == strconv.Itoa(r.seen):
		p.exit(r.trouble, fmt.Sprintf("crash at message %d", r.seen))
	case p.Crash == "call" && method == "tools/call":
		p.exit(r.trouble, "crash at a call")
	case method != "server/discover":
	case p.Probe == "die":
		p.exit(r.trouble, "unknown method server/discover")
	case p.Probe == "silent":
		return false
	}
	return true
}
