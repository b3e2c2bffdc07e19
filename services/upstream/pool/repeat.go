package pool

import (
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
)

// canRepeat reports whether a request can be sent once more after an outcome
// with this verdict: a repeatable one when the session or the connection is
// lost, and any other only when the upstream cannot have processed it. A response
// that broke off and could not be resumed does not count as a lost connection.
func canRepeat(r *upstream.Request, v verdict, unprocessed bool, err error) bool {
	if v != sessionGood {
		return unprocessed || r.IsRepeatable()
	}
	lost := transport.LostBy(err)
	return lost != nil && (lost.Unsent || r.IsRepeatable())
}
