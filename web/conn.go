package web

import (
	"net"
	"syscall"
)

// Listener returns a listener whose connections let a handler answer by itself
// (Stream.AnswerAhead) and serve further requests afterwards. Apps of New serve
// on one.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept is of net.Listener.
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
// serves it reads and writes through it, but for streams that are answered
// ahead, which write while that one waits.
type conn struct {
	net.Conn
	first []byte // room for what comes with the first byte of a request
	ahead []byte // what of it the server has not asked for yet

	answered bool // a handler did; what the server writes next is not sent
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

// Write is of io.Writer. The server's own answer to a request that a handler
// answered is short and comes as one piece, before the next request is read.
func (c *conn) Write(p []byte) (int, error) {
	if c.answered {
		c.answered = false
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// SyscallConn is of syscall.Conn. It returns an error for connections that are
// not of the system's network.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, net.UnknownNetworkError(c.LocalAddr().Network())
}
