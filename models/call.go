package models

import "time"

// Outcome says how a call ended.
type Outcome string

// The outcomes of a call.
const (
	CallOK        Outcome = "ok"         // the tool answered
	CallToolError Outcome = "tool_error" // the tool answered that it failed
	CallFailed    Outcome = "error"      // there is no answer of the tool; the code says why
	CallCancelled Outcome = "cancelled"  // whoever asked went away
)

// Call is one tool call that a client made. What it was about is kept apart,
// and only of projects that record it.
type Call struct {
	ID            string `gorm:"primaryKey"` // grows with time
	At            time.Time
	ProjectID     string
	Principal     string // who called, as their key or sign-in is known
	Tool          string // as it was called
	Server        string // alias; empty for a built-in tool, and when no server was reached
	DurationUS    int64  // microseconds
	RequestBytes  int64
	ResponseBytes int64
	Outcome       Outcome
	Code          string // of the failure; empty without one
	RequestID     string // under which the log knows the request

	// Payload is on its way into its own table with a call that is recorded;
	// nil when it is not kept, and in calls that are read.
	Payload *CallPayload `gorm:"-"`
}
