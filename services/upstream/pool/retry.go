package pool

import (
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
)

// canRepeat reports whether a request can be sent once more after an outcome
// with this verdict. After the loss of the session or the connection a
// repeatable request can. Any other request can only if the upstream cannot
// have processed it. A truncated response that could not be resumed is not a
// lost connection.
func canRepeat(r *upstream.Request, v verdict, unprocessed bool, err error) bool {
	if v != sessionGood {
		return unprocessed || r.IsRepeatable()
	}
	lost := transport.LossOf(err)
	return lost != nil && (lost.Unsent || r.IsRepeatable())
}
