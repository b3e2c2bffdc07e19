package models

import "time"

// CodeRun is a finished Code Mode run, stored so that it can be inspected and
// replayed with the same seed and input. Only the last runs of a project are
// stored.
type CodeRun struct {
	ID         string `gorm:"primaryKey"` // UUID version 7: sorts by time
	ProjectID  string
	At         time.Time // start of the run
	Principal  string    // caller
	Recipe     string    // name of the recipe that ran, or empty
	Code       string
	Input      string // JSON text, or empty
	InputCut   bool   // input too long to store; the run can't be replayed
	Outcome    string // JSON text: result, logs, calls, error
	OK         bool
	Phase      string // phase of the failure; empty on success
	Calls      int64
	DurationMS int64
	TimeoutMS  int64
	DryRun     bool
	SeedAt     time.Time // initial time of the run's clock
	SeedRandom int64
}
