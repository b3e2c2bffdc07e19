package sessions

import "time"

const (
	// Lifetime is how long a session id is accepted after it was issued.
	Lifetime = 7 * 24 * time.Hour
	// MaxEnded bounds the ended sessions that are remembered, in memory and in
	// the database. Beyond it sessions only end by their age.
	MaxEnded = 200_000
	// MaxResources is how many resources one session may be subscribed to.
	MaxResources = 100
	// MaxLevels is the maximum number of sessions whose level of log messages
	// is remembered.
	MaxLevels = 10_000

	// reloadOverlap is how far the clocks of two processes may differ, plus
	// how long a transaction may take, without a change being missed.
	reloadOverlap = 10 * time.Minute
	sweepInterval = time.Hour
)
