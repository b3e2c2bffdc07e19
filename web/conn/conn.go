package conn

import (
	"net"
	"sync"
	"syscall"
	"time"
)

// firstRead is the number of bytes read when the server requests the first byte
// of a request. Most requests fit.
const firstRead = 4 << 10

// conn is a connection of a client. Only the goroutine that serves it may read
// from it.
type conn struct {
	net.Conn
	leave func() // frees the slot of the connection

	buffered []byte // read with the first byte of a request, not yet returned

	ip string // of the peer; set by PeerIP

	// Bytes written since the current allowance began, and the total duration
	// of those writes.
	sent   int
	waited time.Duration

	mu       sync.Mutex
	explicit bool // the write deadline was set by SetWriteDeadline
}

// Read implements io.Reader. The server first reads one byte of a request
// (fasthttp, ReduceMemoryUsage). Bytes that arrive with it are buffered for the
// next Read.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.buffered) == 0 && len(p) == 1 {
		first := make([]byte, firstRead)
		n, err := c.Conn.Read(first)
		if n == 0 {
			return 0, err
		}
		c.buffered = first[:n]
	}
	if len(c.buffered) > 0 {
		n := copy(p, c.buffered)
		if c.buffered = c.buffered[n:]; len(c.buffered) == 0 {
			c.buffered = nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

// PeerIP returns the IP address of the peer, or 0.0.0.0 for networks other than
// TCP. Only the reading goroutine may call it.
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

// Write limits: a client has writeTime to read writePiece bytes.
const (
	writeTime  = 30 * time.Second
	writePiece = 64 << 10
)

// Write implements io.Writer. It fails when the client reads too slowly, unless
// SetWriteDeadline has set another limit.
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
// for a write in progress. The zero time restores the limit for later writes.
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

// SyscallConn implements syscall.Conn. It returns an error for connections
// without a file descriptor.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, net.UnknownNetworkError(c.LocalAddr().Network())
}
