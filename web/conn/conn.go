package conn

import (
	"net"
	"sync"
	"syscall"
	"time"
)

// firstRead is how many bytes are read at once when the server asks for the
// first of a request: most requests whole.
const firstRead = 4 << 10

// conn is a client's connection as the server has it. Only the goroutine that
// serves it reads through it.
type conn struct {
	net.Conn
	leave func() // frees the slot of the connection

	ahead []byte // read with the first byte of a request and not requested yet

	ip string // of the other end, once PeerIP was called

	// Of writing: how many bytes were written since the allowance began, and
	// how long those writes took together.
	sent   int
	waited time.Duration

	mu       sync.Mutex
	explicit bool // the write deadline was set by SetWriteDeadline
}

// Read implements io.Reader. Before its first request the server requests one
// byte (fasthttp, ReduceMemoryUsage). Bytes that arrive with it are kept for the
// next Read.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.ahead) == 0 && len(p) == 1 {
		first := make([]byte, firstRead)
		n, err := c.Conn.Read(first)
		if n == 0 {
			return 0, err
		}
		c.ahead = first[:n]
	}
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
			c.ahead = nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

// PeerIP returns the IP address of the other end, and 0.0.0.0 for connections of
// other networks than TCP. It is called by the goroutine that reads.
func (c *conn) PeerIP() string {
	if c.ip == "" {
		ip := net.IPv4zero
		if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
			ip = tcp.IP
		}
		c.ip = ip.String()
	}
	return c.ip
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.Conn.SetReadDeadline(t)
}

// Bounds of writing: a client has writeTime to read writePiece bytes.
const (
	writeTime  = 30 * time.Second
	writePiece = 64 << 10
)

// Write implements io.Writer. Writing fails when the client takes too long to
// read, unless SetWriteDeadline has set another limit.
func (c *conn) Write(p []byte) (n int, err error) {
	for {
		piece := p[n:min(n+writePiece-c.sent, len(p))]
		began := time.Now()
		if err := c.allowWrite(began); err != nil {
			return n, err
		}
		written, err := c.Conn.Write(piece)
		n += written
		c.sent += written
		c.waited += time.Since(began)
		if c.sent >= writePiece {
			c.sent, c.waited = 0, 0
		}
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// allowWrite sets the deadline of the next write.
func (c *conn) allowWrite(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.explicit {
		return nil
	}
	return c.Conn.SetWriteDeadline(now.Add(writeTime - c.waited))
}

// SetWriteDeadline implements net.Conn. It replaces the limit of Write, also
// for a write in progress; the zero time restores it for later writes.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.explicit = !t.IsZero()
	return c.Conn.SetWriteDeadline(t)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if c.leave != nil {
		c.leave()
	}
	return err
}

// SyscallConn implements syscall.Conn. It returns an error for connections that are
// not of the system's network.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, net.UnknownNetworkError(c.LocalAddr().Network())
}
