package alerts

import (
	"time"

	"mcpgateway/models"
)

// ClearAfter is the minimum time without the problem before its alert is resolved.
const ClearAfter = 2 * time.Minute

// Level is the result of a check.
type Level int

// The levels. Between is below the threshold, but too close to it to end an alert,
// or unknown: it neither fires nor resolves.
const (
	Clear Level = iota
	Between
	Bad
)

// Finding is the result of a check of one object. Objects without one are Clear.
type Finding struct {
	Subject string // ID of the object
	Project string // slug; empty for the whole gateway
	Object  string
	Detail  string // a sentence
	Since   time.Time
	Level   Level
}

// step is the change of an alert.
type step int

const (
	stay    step = iota
	begin        // the problem is new: pending
	forget       // it ended while pending
	fire         // it lasted long enough
	worsen       // it is back before it was resolved
	improve      // it is gone, for now
	resolve      // it has been gone for long enough
)

// next returns the change of an alert, which is nil if there is none that isn't
// resolved. since is the start of a new problem.
func next(a *models.Alert, level Level, since, now time.Time, hold time.Duration) step {
	switch {
	case a == nil && level == Bad && now.Sub(since) >= hold:
		return fire
	case a == nil && level == Bad:
		return begin
	case a == nil:
		return stay
	case a.State == models.AlertPending && level == Clear:
		return forget
	case a.State == models.AlertPending && level == Bad && now.Sub(a.Since) >= hold:
		return fire
	case a.State == models.AlertPending:
		return stay
	case level != Clear && a.ClearSince != nil:
		return worsen
	case level == Clear && a.ClearSince == nil:
		return improve
	case level == Clear && now.Sub(*a.ClearSince) >= ClearAfter:
		return resolve
	}
	return stay
}
