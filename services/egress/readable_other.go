//go:build !unix

package egress

import "net"

// isReadable always reports false on systems without a way to check. A request
// on a connection that was closed then fails, as it does with net/http.
func isReadable(net.Conn) bool { return false }
