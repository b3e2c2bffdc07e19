package models

import "time"

// CallPayload contains the arguments and result of a tool call, of projects
// that record them: JSON, redacted and truncated before it is stored. It is
// deleted before its call.
type CallPayload struct {
	CallID       string `gorm:"primaryKey"`
	ProjectID    string
	At           time.Time // of the call
	Arguments    string
	ArgumentsCut bool   // truncated
	Answer       string // result or error
	AnswerCut    bool   // truncated
}
