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

// mayConnectAgain reports whether connecting failed in a way that may be over
// at once. Nothing that changes anything was sent by then.
func mayConnectAgain(err error) bool { return lostBy(err) != nil }

// mayAskAgain reports whether a request whose connection failed can be sent
// once more: one that only reads, and any other of which the upstream cannot
// have seen a byte. What failed behind a part of the answer is no such failure,
// even when it is that the answer could not be resumed.
func mayAskAgain(method string, err error) bool {
	lost := lostBy(err)
	return lost != nil && (lost.unsent || reads(method))
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
