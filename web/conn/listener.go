// Package conn manages the connections of clients. It has a listener that
// limits their number and survives a shortage of file descriptors, connections
// with read-ahead and a write limit for slow readers, and disconnect detection.
package conn

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"mcpgateway/services/background"
)

// Delays between attempts to accept a connection after a failure.
const (
	minAcceptWait = 5 * time.Millisecond
	maxAcceptWait = time.Second
	// acceptLogInterval is the minimum time between two log lines about failed
	// or rejected connections.
	acceptLogInterval = time.Minute
)

// Limits bound the connections of clients. The zero value means no limit.
type Limits struct {
	Max           int               // open connections
	MaxPerAddress int               // open connections of one IPv4 address or IPv6 /64
	Exempt        []netip.Prefix    // addresses without MaxPerAddress, such as proxies
	Log           *slog.Logger      // nil logs nothing
	Background    *background.Tasks // starts goroutines; may be nil
	Help          string            // URL of the documentation of UNAVAILABLE, or ""
}

// Listener returns a listener without limits for apps of web.New. See
// NewListener.
func Listener(l net.Listener) net.Listener { return NewListener(l, Limits{}) }

// NewListener returns a listener for apps of web.New. Its connections allow a
// handler to send the response itself (sse.Stream.AnswerAhead), serve further
// requests afterwards, and fail when the client takes longer than 30 s to read
// 64 KiB. A connection above the limits gets 503 with Retry-After and is
// closed. When the system lacks descriptors or memory, Accept retries until it
// succeeds or the listener is closed. It is not safe for concurrent calls.
func NewListener(l net.Listener, limits Limits) net.Listener {
	return &listener{Listener: l, gate: newConnGate(limits), log: limits.Log, closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	gate *connGate
	log  *slog.Logger

	failed, refused time.Time // last log line of each kind

	close  sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for wait := time.Duration(0); ; {
		c, err := l.Listener.Accept()
		if err == nil {
			if own := l.admit(c); own != nil {
				return own, nil
			}
			wait = 0
			continue
		}
		if !isTemporary(err) {
			return nil, err
		}
		wait = min(max(2*wait, minAcceptWait), maxAcceptWait)
		l.report(&l.failed, "accept failed", "error", err)
		select {
		case <-time.After(wait):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// admit returns the connection for the server, or nil if it exceeds the limits
// and was rejected.
func (l *listener) admit(c net.Conn) net.Conn {
	leave, err := l.gate.enter(c.RemoteAddr())
	if err != nil {
		l.report(&l.refused, "connection rejected", "error", err, "address", c.RemoteAddr().String())
		l.gate.reject(c)
		return nil
	}
	return &conn{Conn: c, leave: leave}
}

// report logs an event unless one of its kind was logged within
// acceptLogInterval.
func (l *listener) report(last *time.Time, event string, attrs ...any) {
	now := time.Now()
	if l.log == nil || !last.IsZero() && now.Sub(*last) < acceptLogInterval {
		return
	}
	*last = now
	l.log.Warn(event, attrs...)
}

// isTemporary reports whether accepting failed because of a lack of resources
// or a single client (accept(2), "ERRORS").
func isTemporary(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EPROTO, syscall.EPERM,
		syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENOPROTOOPT, syscall.EOPNOTSUPP,
	}, func(temporary error) bool { return errors.Is(err, temporary) })
}
