//go:build !unix

package egress

import "net"

// isReadable always returns false on systems without a way to check. A request
// on a closed connection then fails, as with net/http.
func isReadable(net.Conn) bool { return false }
