package models

import "time"

// Outcome is the outcome of a call.
type Outcome string

// The outcomes of a call.
const (
	CallOK        Outcome = "ok"         // the tool returned a result
	CallToolError Outcome = "tool_error" // the tool returned a result with isError
	CallFailed    Outcome = "error"      // no result; Code is the reason
	CallCancelled Outcome = "cancelled"  // the client cancelled or disconnected
)

// Call is a client's tool call. Its arguments and result are in CallPayload,
// for projects that record them.
type Call struct {
	ID            string `gorm:"primaryKey"` // sorts by time
	At            time.Time
	ProjectID     string
	Principal     string // caller: key prefix or sign-in
	Tool          string // as called by the client
	Server        string // alias; empty for a built-in tool, and when no server was reached
	DurationUS    int64  // microseconds
	RequestBytes  int64
	ResponseBytes int64
	Outcome       Outcome
	Code          string // error code; empty on success
	RequestID     string // request id in the log
	Toolset       string // slug of the toolset whose endpoint was called; empty for the project's
	UserID        string // person behind the caller; empty if there is none

	// Payload is set only when a recorded call is written. It is stored in its
	// own table.
	Payload *CallPayload `gorm:"-"`
}
