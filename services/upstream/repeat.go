package upstream

// mayConnectAgain reports whether connecting failed in a way that may be over
// at once. Nothing that changes anything was sent by then.
func mayConnectAgain(err error) bool { return lostBy(err) != nil }

// canRepeat reports whether a request can be sent once more after an outcome
// with this verdict: a repeatable one when the session or the connection is
// lost, and any other only when the upstream cannot have processed it. A response
// that broke off and could not be resumed does not count as a lost connection.
func canRepeat(r *Request, v verdict, unprocessed bool, err error) bool {
	if v != sessionGood {
		return unprocessed || r.IsRepeatable()
	}
	lost := lostBy(err)
	return lost != nil && (lost.unsent || r.IsRepeatable())
}
