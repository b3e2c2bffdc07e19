//go:build !unix

package egress

import "net"

// isClosedByPeer cannot tell on this system. A request on a connection that
// was closed in the same moment then fails, as it does with net/http alone.
func isClosedByPeer(net.Conn) bool { return false }
