package upstream

import (
	"errors"
	"strings"

	"mcpgateway/services/fault"
)

// reads reports whether a method only reads, so that asking twice is the same
// as asking once.
func reads(method string) bool {
	switch method {
	case "server/discover", "ping", "resources/read", "prompts/get", "completion/complete":
		return true
	}
	return strings.HasSuffix(method, "/list")
}

// isRepeatable reports whether processing the request twice is the same as once.
func (r *Request) isRepeatable() bool { return r.Repeatable || reads(r.Method) }

// mayConnectAgain reports whether connecting failed in a way that may be over
// at once. Nothing that changes anything was sent by then.
func mayConnectAgain(err error) bool { return lostBy(err) != nil }

// canRepeat reports whether a request can be sent once more after an outcome
// with this verdict: a repeatable one when the session or the connection is
// lost, and any other only when the upstream cannot have processed it. A response
// that broke off and could not be resumed does not count as a lost connection.
func canRepeat(r *Request, v verdict, unprocessed bool, err error) bool {
	if v != sessionGood {
		return unprocessed || r.isRepeatable()
	}
	lost := lostBy(err)
	return lost != nil && (lost.unsent || r.isRepeatable())
}

// lostBy returns the lost connection that the fault err is about, or nil. Where
// the time ran out instead, there is none left for another attempt.
func lostBy(err error) *lostConnection {
	if err == nil { // what follows allocates
		return nil
	}
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code == fault.CodeUpstreamTimeout {
		return nil
	}
	var lost *lostConnection
	_ = errors.As(f.Cause, &lost)
	return lost
}
