//go:build unix

package rawconn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// New returns a connection that reads c at the pace and writes to it by Write, or
// c itself when it is not of the system's network. It can be used like c, and c
// beside it.
func New(c net.Conn, pace *Pace) net.Conn {
	raw := Of(c)
	if raw == nil {
		return c
	}
	own := &conn{Conn: c, raw: raw, pace: pace}
	own.reading.step, own.writing.step = own.read, own.write
	return own
}

type conn struct {
	net.Conn
	raw              syscall.RawConn
	pace             *Pace
	reading, writing transfer
}

// transfer is a Read or Write under way, of which each connection has one at a
// time. Its step is made once, so that a transfer costs no allocation.
type transfer struct {
	mu   sync.Mutex
	step func(fd uintptr) (over bool)
	p    []byte // what is not read or written yet
	n    int
	err  error
}

// run runs steps until one is the last. The error is the step's, by the name of
// its system call, or why there was no further step: the deadline, or that the
// connection is closed.
func (t *transfer) run(wait func(func(uintptr) bool) error, p []byte, call string) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p, t.n, t.err = p, 0, nil
	err := wait(t.step)
	t.p = nil
	if err == nil && t.err != nil {
		err = os.NewSyscallError(call, t.err)
	}
	return t.n, err
}

// read is the step of reading.
func (c *conn) read(fd uintptr) (over bool) {
	t, wait := &c.reading, false
	t.n, wait, t.err = c.pace.Read(int(fd), t.p)
	return !wait
}

// write is the step of writing.
func (c *conn) write(fd uintptr) (over bool) {
	t := &c.writing
	for len(t.p) > 0 {
		n, wait, err := Write(int(fd), t.p)
		if wait {
			return false
		}
		if t.err = err; err != nil {
			return true
		}
		t.n, t.p = t.n+n, t.p[n:]
	}
	return true
}

// Read is of net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return c.Conn.Read(p)
	}
	n, err := c.reading.run(c.raw.Read, p, "read")
	if err == nil && n == 0 {
		return 0, io.EOF
	}
	return n, c.failure("read", err)
}

// Write is of net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.writing.run(c.raw.Write, p, "write")
	return n, c.failure("write", err)
}

// failure returns an error as the methods of net's own connections do.
func (c *conn) failure(op string, err error) error {
	if err == nil {
		return nil
	}
	if waiting := (*net.OpError)(nil); errors.As(err, &waiting) { // it has a name of its own there
		waiting.Op = op
		return err
	}
	return &net.OpError{Op: op, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// SyscallConn is of syscall.Conn.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }
