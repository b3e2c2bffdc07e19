package web

import (
	"net"
	"syscall"
)

// Listener returns a listener whose connections read ahead. Apps of New serve on
// one.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// firstRead is how many bytes are read at once when the server asks for the
// first of a request: most requests whole.
const firstRead = 4 << 10

// conn is a client's connection as the server has it. Only the goroutine that
// serves it reads through it.
type conn struct {
	net.Conn
	first []byte // room for what comes with the first byte of a request
	ahead []byte // what of it the server has not asked for yet

	ip string // of the other end, once somebody asked
}

// Read is of io.Reader. The server gives its buffers back while it waits for a
// request, and asks for one byte first (fasthttp, ReduceMemoryUsage). What comes
// with that byte is kept for the next Read instead of reading twice.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.ahead) == 0 && len(p) == 1 {
		if c.first == nil {
			c.first = make([]byte, firstRead)
		}
		n, err := c.Conn.Read(c.first)
		if n == 0 {
			return 0, err
		}
		c.ahead = c.first[:n]
	}
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// SyscallConn is of syscall.Conn. It returns an error for connections that are
// not of the system's network.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, net.UnknownNetworkError(c.LocalAddr().Network())
}
