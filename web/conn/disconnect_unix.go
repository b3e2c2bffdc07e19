//go:build unix

package conn

import "syscall"

// isClosedByPeer reports whether the other end has closed the connection. It
// takes nothing from it: what a client sends ahead stays for its turn.
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
