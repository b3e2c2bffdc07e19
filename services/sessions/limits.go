package sessions

import "time"

const (
	// Lifetime is the maximum age of a session id.
	Lifetime = 7 * 24 * time.Hour
	// MaxEnded is the maximum number of ended sessions stored in memory and in
	// the database. Beyond it, sessions end only by expiry.
	MaxEnded = 200_000
	// MaxResources is the maximum number of resource subscriptions per session.
	MaxResources = 100
	// MaxLevels is the maximum number of sessions whose log level is cached.
	MaxLevels = 10_000

	// MaxFinished is the maximum number of stored results of a project whose
	// clients were not connected. Beyond it the oldest is deleted.
	MaxFinished = 1_000
	// MaxFinishedSize is the maximum size in bytes of a stored result.
	MaxFinishedSize = 1 << 20
	// FinishedLifetime is the time that a result is stored.
	FinishedLifetime = 5 * time.Minute

	// reloadOverlap is the tolerated clock difference between processes plus
	// the duration of a transaction.
	reloadOverlap = 10 * time.Minute
	sweepInterval = time.Hour
)
