package pool

import "time"

// Limits of what an upstream may cost the gateway. Sizes are bytes.
const (
	// maxSessions is the number of sessions with one server. Beyond it the
	// session that was idle for longest makes room.
	maxSessions = 1_000
	// maxEnding is the number of sessions that are being ended at once.
	maxEnding = 32
	// maxSubscribed is the number of resources of one server that are watched
	// for clients.
	maxSubscribed = 1_000
	// maxSettleRounds is how often in a row an upstream is told of one
	// resource.
	maxSettleRounds = 10
	// maxDiscoverTime bounds the first probe, so that an older upstream that
	// never answers an unknown method is still asked in its own way.
	maxDiscoverTime = 10 * time.Second
	// maxCloseTime bounds ending a session.
	maxCloseTime = 2 * time.Second
	// maxLevelTime bounds setting the level of log messages before a call.
	maxLevelTime = 5 * time.Second
	// maxIdleTime is how long a session may lie unused.
	maxIdleTime = 30 * time.Minute
	// sweepInterval is how often idle sessions are looked for.
	sweepInterval = time.Minute
	// maxDescriptionAge is how old the description of an upstream without
	// sessions may be when its tools are listed.
	maxDescriptionAge = time.Minute
)
