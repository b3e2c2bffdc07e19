package models

import "time"

// CallPayload is what a tool call was about, of a project that records it:
// JSON whose secrets were replaced before it was stored, and of which the
// beginning is kept. It goes sooner than its call.
type CallPayload struct {
	CallID       string `gorm:"primaryKey"`
	ProjectID    string
	At           time.Time // of the call
	Arguments    string
	ArgumentsCut bool   // there was more
	Answer       string // the result, or the error
	AnswerCut    bool   // there was more
}
