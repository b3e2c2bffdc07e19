package transport

import (
	"sync"
	"time"

	"mcpgateway/services/upstream"
)

// Attribution finds the client to which a notification belongs that arrives on
// a stream shared by the calls of a session. On a session of several clients it
// belongs to one only if no call of another is in flight, or was a moment ago:
// otherwise one client would read what is meant for another.
type Attribution struct {
	Exclusive bool // the session belongs to one client
	own       bool // the session is the gateway's, without any client
	complete  func(params []byte) (found bool)
	lost      func() // counts a notification that belongs to no client for certain

	mu      sync.Mutex
	unnamed int64
	calls   map[caller]presence
	last    departure // the latest end of a call
	other   departure // the latest end of a call of another client than last's
}

// caller identifies a client, or the call of a client without a session.
type caller struct {
	session string
	unnamed int64
}

// presence is a client with calls in flight.
type presence struct {
	calls int
	stray func(method string, params []byte) // of the latest call
}

// departure is the end of a call.
type departure struct {
	caller caller
	at     time.Time
	stray  func(method string, params []byte)
}

// NewAttribution returns the attribution of a session, which is exclusive to
// one client, the gateway's own, or neither.
func NewAttribution(exclusive, own bool, complete func(params []byte) (found bool), lost func()) *Attribution {
	return &Attribution{Exclusive: exclusive, own: own, complete: complete, lost: lost, calls: map[caller]presence{}}
}

// Begin counts a call until end is called with the returned caller.
func (a *Attribution) Begin(r *upstream.Request) caller {
	a.mu.Lock()
	defer a.mu.Unlock()
	by := caller{session: r.Client.SessionID}
	if by.session == "" {
		a.unnamed++
		by.unnamed = a.unnamed
	}
	a.calls[by] = presence{calls: a.calls[by].calls + 1, stray: r.Stray}
	return by
}

// End ends a call that Begin counted.
func (a *Attribution) End(by caller) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.calls[by]
	if p.calls--; p.calls > 0 {
		a.calls[by] = p
	} else {
		delete(a.calls, by)
	}
	if a.last.caller != by {
		a.other = a.last
	}
	a.last = departure{caller: by, at: time.Now(), stray: p.stray}
}

// Deliver passes a notification of a shared stream to the client that it
// belongs to. It must not block.
func (a *Attribution) Deliver(method string, params []byte) {
	switch {
	case method == upstream.ElicitationComplete:
		if !a.complete(params) && !a.own {
			a.lost()
		}
		return
	case a.own || !upstream.IsCustom(method):
		return
	}
	stray, found := a.recipient(time.Now())
	switch {
	case !found:
		a.lost()
	case stray != nil:
		stray(method, params)
	}
}

// recipient returns what the only client takes its notifications with, and
// whether there is exactly one.
func (a *Attribution) recipient(now time.Time) (stray func(string, []byte), found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	recent := func(d departure) bool { return !d.at.IsZero() && now.Sub(d.at) <= maxStrayTime }
	for by, p := range a.calls {
		switch {
		case a.Exclusive:
		case len(a.calls) > 1, recent(a.last) && a.last.caller != by, recent(a.other) && a.other.caller != by:
			return nil, false
		}
		return p.stray, true
	}
	if a.Exclusive {
		return a.last.stray, !a.last.at.IsZero()
	}
	return a.last.stray, recent(a.last) && !recent(a.other)
}
