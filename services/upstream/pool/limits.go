package pool

import "time"

// Limits on the resources of one upstream. Sizes are in bytes.
const (
	// maxSessions is the maximum number of sessions with one server. At the
	// limit the session that has been idle the longest is closed.
	maxSessions = 1_000
	// maxDeclared is the number of sessions that all clients share, one for each
	// capabilities object, at which idle ones make room for another.
	maxDeclared = 64
	// maxPersonalCalls is the maximum number of calls in flight of one user to
	// one server where users have their own accounts, and of their sessions.
	maxPersonalCalls = 16
	// maxPersonalSessions is the maximum number of sessions of all users'
	// own accounts. Near the limit idle sessions are closed early.
	maxPersonalSessions = 10_000
	// personalReserve is the number of free personal sessions below which idle
	// ones are closed, because several may be opened at once.
	personalReserve = 200
	// maxEnding is the maximum number of sessions that are closed concurrently.
	maxEnding = 32
	// maxSubscribed is the maximum number of resources of one server that
	// clients can subscribe to.
	maxSubscribed = 1_000
	// maxSettleRounds is the maximum number of consecutive subscribe and
	// unsubscribe requests for one resource.
	maxSettleRounds = 10
	// maxDiscoverTime limits server/discover, so that an older upstream that
	// never responds to unknown methods still receives an initialize request.
	maxDiscoverTime = 10 * time.Second
	// maxCloseTime is the timeout for closing a session.
	maxCloseTime = 2 * time.Second
	// maxLevelTime is the timeout for setting the log level before a call.
	maxLevelTime = 5 * time.Second
	// maxIdleTime is the time after which an idle session is closed.
	maxIdleTime = 30 * time.Minute
	// sweepInterval is the interval of the checks for idle sessions.
	sweepInterval = time.Minute
	// maxDescriptionAge is the maximum age of a stateless upstream's
	// description when its tools are listed.
	maxDescriptionAge = time.Minute
)
