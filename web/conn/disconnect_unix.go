//go:build unix

package conn

import "syscall"

// isClosedByPeer reports whether the peer has closed the connection. It doesn't
// consume data, so pipelined requests are preserved.
func isClosedByPeer(fd uintptr) bool {
	var b [1]byte
	n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch err {
	case nil:
		return n == 0
	case syscall.EAGAIN, syscall.EINTR:
		return false
	default:
		return true
	}
}
