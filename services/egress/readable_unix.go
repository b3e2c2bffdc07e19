//go:build unix

package egress

import (
	"net"
	"syscall"
)

// isReadable reports whether an idle connection was closed by its peer or
// received bytes, both of which make it unusable. It neither blocks nor
// consumes anything. It must be called below TLS.
func isReadable(c net.Conn) bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	readable := true
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		readable = err != syscall.EAGAIN && err != syscall.EINTR
	})
	return readable || err != nil
}
