package web

import (
	"net"
	"syscall"
	"time"

	"mcpgateway/services/rawconn"
)

// Listener returns a listener whose connections let a handler answer by itself
// (Stream.AnswerAhead) and serve further requests afterwards. Apps of New serve
// on one.
func Listener(l net.Listener) net.Listener { return listener{l, rawconn.NewPace()} }

type listener struct {
	net.Listener
	pace *rawconn.Pace
}

// Accept is of net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: rawconn.New(c, l.pace)}, nil
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

	deadline time.Time // of reading, as the server wants it
	set      time.Time // as the system has it

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
		n, err := c.read(c.first)
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
	return c.read(p)
}

// deadlineSlack is how much earlier than the server wants it a read may end, a
// little of its half minute and more.
const deadlineSlack = time.Second

// SetReadDeadline is of net.Conn, for the server. It sets one before and one
// behind the first byte of every request, most of which no read waits for; so
// the system is told of it by a read, and only when it makes a difference.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

// SetDeadline is of net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.deadline, c.set = t, t
	return c.Conn.SetDeadline(t)
}

// setReadDeadlineNow sets a deadline that holds for reads under way.
func (c *conn) setReadDeadlineNow(t time.Time) error {
	c.set = t
	return c.Conn.SetReadDeadline(t)
}

// read reads until the deadline.
func (c *conn) read(p []byte) (int, error) {
	early := c.deadline.Sub(c.set)
	if c.deadline.IsZero() != c.set.IsZero() || early < 0 || early >= deadlineSlack {
		if err := c.setReadDeadlineNow(c.deadline); err != nil {
			return 0, err
		}
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
