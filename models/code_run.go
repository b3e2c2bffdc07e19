package models

import "time"

// CodeRun is one finished run of submitted code, kept so that it can be
// looked at and run again with the same seed and input. Only the last ones of
// a project are kept.
type CodeRun struct {
	ID         string `gorm:"primaryKey"` // UUID version 7: sorts by time
	ProjectID  string
	At         time.Time // when it began
	Principal  string    // who ran it
	Code       string
	Input      string // JSON text, or empty
	InputCut   bool   // the input was too long to be kept, so it cannot be replayed
	Outcome    string // JSON text: result, logs, calls, error
	OK         bool
	Phase      string // of the failure; empty when there was none
	Calls      int64
	DurationMS int64
	TimeoutMS  int64
	DryRun     bool
	SeedAt     time.Time // what the code's clock began with
	SeedRandom int64
}
