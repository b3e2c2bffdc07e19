package transport

import (
	"sync"
	"time"

	"mcpgateway/services/upstream"
)

// Attribution finds the client of a notification on a stream that is shared by
// the calls of a session. In a session of several clients, a notification
// belongs to a client only if no call of another client is in flight or ended
// within maxStrayTime. Otherwise a client could read another client's data.
type Attribution struct {
	Exclusive bool // the session belongs to one client
	own       bool // the session is the gateway's own, without clients
	complete  func(method string, params []byte) (found bool)
	lost      func() // counts a notification that cannot be attributed

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

// NewAttribution returns the attribution of a session that is exclusive to one
// client, the gateway's own, or shared.
func NewAttribution(exclusive, own bool, complete func(method string, params []byte) (found bool), lost func()) *Attribution {
	return &Attribution{Exclusive: exclusive, own: own, complete: complete, lost: lost, calls: map[caller]presence{}}
}

// Begin registers a call. The caller must call End with the result.
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

// End removes a call that Begin registered.
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

// Deliver passes a notification of a shared stream to its client. It does not
// block.
func (a *Attribution) Deliver(method string, params []byte) {
	switch {
	case method == upstream.ElicitationComplete, method == upstream.TaskStatus:
		if !a.complete(method, params) && !a.own {
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

// recipient returns the Stray function of the only possible client. found
// reports whether there is exactly one.
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
