package conn

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// connRetry is the Retry-After of a rejected connection.
	connRetry = 5 * time.Second
	// maxRejecting is the maximum number of rejected connections that are
	// closed gracefully at once. Others may lose their response.
	maxRejecting = 64
	// rejectWriteTimeout is the time to write a response to such a connection. An empty
	// send buffer accepts it at once.
	rejectWriteTimeout = time.Millisecond
	// rejectTime is the time a rejected client has to read its response.
	rejectTime = time.Second
	// rejectBytes is the maximum number of bytes read from a rejected client.
	// Closing a connection with unread bytes would discard the response.
	rejectBytes = 64 << 10
)

var (
	errTooManyConns = errors.New("too many connections")
	errTooManyOfOne = errors.New("too many connections from one address")
)

// rejection returns the response to a connection beyond the limits. help is the
// URL of the documentation of its code, or "".
func rejection(help string) []byte {
	message := `{"code":"UNAVAILABLE","message":"Too many connections are open. Close some or retry later.","restart":false`
	if help != "" {
		message += `,"help":` + strconv.Quote(help)
	}
	message += "}"
	return []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nRetry-After: " +
		strconv.Itoa(int(connRetry.Seconds())) + "\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(message)) + "\r\n\r\n" + message)
}

// connGate counts the open connections.
type connGate struct {
	limits   Limits
	rejected []byte        // response to a connection beyond the limits
	refused  chan struct{} // has an element for each connection being rejected

	mu   sync.Mutex
	open int
	of   map[netip.Addr]int // open connections by countedAddr; no zeros
}

func newConnGate(limits Limits) *connGate {
	return &connGate{limits: limits, rejected: rejection(limits.Help), refused: make(chan struct{}, maxRejecting), of: map[netip.Addr]int{}}
}

// enter counts a connection until leave is called. It returns errTooManyConns
// or errTooManyOfOne above the limits.
func (g *connGate) enter(from net.Addr) (leave func(), err error) {
	addr := countedAddr(from)
	if !addr.IsValid() || slices.ContainsFunc(g.limits.Exempt, func(p netip.Prefix) bool { return p.Contains(addrOf(from)) }) {
		addr = netip.Addr{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.limits.Max > 0 && g.open >= g.limits.Max:
		return nil, errTooManyConns
	case addr.IsValid() && g.limits.MaxPerAddress > 0 && g.of[addr] >= g.limits.MaxPerAddress:
		return nil, errTooManyOfOne
	}
	g.open++
	if addr.IsValid() {
		g.of[addr]++
	}
	return sync.OnceFunc(func() { g.exit(addr) }), nil
}

func (g *connGate) exit(addr netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	if !addr.IsValid() {
		return
	}
	if g.of[addr]--; g.of[addr] == 0 {
		delete(g.of, addr)
	}
}

// addrOf returns the IP address of the peer, or an invalid address for
// connections of other networks.
func addrOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

// countedAddr returns the address that a connection counts for: the /64 of an
// IPv6 address, because networks assign a whole /64 to one customer.
func countedAddr(a net.Addr) netip.Addr {
	addr := addrOf(a)
	if !addr.Is6() {
		return addr
	}
	network, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return network.Addr()
}

// reject responds to a connection with 503 and closes it. It does not block for
// long.
func (g *connGate) reject(c net.Conn) {
	select {
	case g.refused <- struct{}{}:
	default:
		if c.SetDeadline(time.Now().Add(rejectWriteTimeout)) == nil {
			_, _ = c.Write(g.rejected)
		}
		_ = c.Close()
		return
	}
	g.limits.Background.Go("connection rejection", func() {
		defer func() { <-g.refused }()
		defer c.Close()
		if c.SetDeadline(time.Now().Add(rejectTime)) != nil {
			return
		}
		if _, err := c.Write(g.rejected); err != nil {
			return
		}
		if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			_, _ = io.CopyN(io.Discard, c, rejectBytes)
		}
	})
}
