//go:build unix

package egress

import (
	"net"
	"syscall"

	"mcpgateway/services/rawconn"
)

// isClosedByPeer reports whether a kept connection has been closed at its
// other end, or brought bytes that nobody asked for. Both make it useless for
// another request. It neither waits nor takes anything from the connection.
func isClosedByPeer(c net.Conn) bool {
	raw := rawconn.Of(c)
	if raw == nil {
		return false
	}
	closed := false
	// Control and not Read, because net/http is reading from it.
	err := raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = err != syscall.EAGAIN && err != syscall.EWOULDBLOCK && err != syscall.EINTR
	})
	return closed || err != nil
}
