package upstream

import (
	"sync"
	"time"
)

// Notifications that an upstream sends on its own initiative, besides those of
// events.go.
const (
	progressNotification = "notifications/progress"
	// ElicitationComplete reports that a URL elicitation is done (MCP
	// 2025-11-25, "Elicitation").
	ElicitationComplete = "notifications/elicitation/complete"
)

// IsCustom reports whether a notification is neither progress nor one that the
// gateway acts on itself: a log message, or one that the protocol doesn't
// define. Those belong to clients.
func IsCustom(method string) bool {
	switch method {
	case progressNotification, ElicitationComplete, ToolsListChanged, PromptsListChanged, ResourcesListChanged, ResourceUpdated,
		"notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed", "notifications/tasks/status",
		"notifications/subscriptions/acknowledged":
		return false
	default:
		return true
	}
}

// attribution finds the client to which a notification belongs that arrives on
// a stream shared by the calls of a session. On a session of several clients it
// belongs to one only if no call of another is in flight, or was a moment ago:
// otherwise one client would read what is meant for another.
type attribution struct {
	exclusive bool // the session belongs to one client
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

func newAttribution(p *Pool, t *Target, key sessionKey) *attribution {
	return &attribution{
		exclusive: key.client != "" || key.alone, own: key.own, calls: map[caller]presence{},
		complete: func(params []byte) bool { return p.completed(t.ServerID, params) },
		lost:     func() { p.unattributed.Add(1) },
	}
}

// begin counts a call until end is called with the returned caller.
func (a *attribution) begin(r *Request) caller {
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

func (a *attribution) end(by caller) {
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

// deliver passes a notification of a shared stream to the client that it
// belongs to. It must not block.
func (a *attribution) deliver(method string, params []byte) {
	switch {
	case method == ElicitationComplete:
		if !a.complete(params) && !a.own {
			a.lost()
		}
		return
	case a.own || !IsCustom(method):
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
func (a *attribution) recipient(now time.Time) (stray func(string, []byte), found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	recent := func(d departure) bool { return !d.at.IsZero() && now.Sub(d.at) <= maxStrayTime }
	for by, p := range a.calls {
		switch {
		case a.exclusive:
		case len(a.calls) > 1, recent(a.last) && a.last.caller != by, recent(a.other) && a.other.caller != by:
			return nil, false
		}
		return p.stray, true
	}
	if a.exclusive {
		return a.last.stray, !a.last.at.IsZero()
	}
	return a.last.stray, recent(a.last) && !recent(a.other)
}
