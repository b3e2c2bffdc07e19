//go:build !unix

package rawconn

import "net"

// New returns c: this system has no other way to read and write.
func New(c net.Conn, _ *Pace) net.Conn { return c }
