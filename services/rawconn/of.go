package rawconn

import (
	"net"
	"syscall"
)

// Of returns the socket of a connection, or nil for one that is not of the
// system's network.
func Of(c net.Conn) syscall.RawConn {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
