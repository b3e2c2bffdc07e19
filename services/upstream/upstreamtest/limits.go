package upstreamtest

import "time"

const (
	maxBody         = 16 << 20 // bytes of a request
	maxDepth        = 512      // nesting of a request
	maxSessions     = 20_000
	maxBatch        = 100 // messages of a batch
	maxHeldConns    = 256
	maxInFlight     = 64       // unanswered requests of one HTTP+SSE session
	maxBig          = 32 << 20 // bytes that the tool Big returns at most
	maxProgress     = 100_000  // notifications of the tool Progress
	maxLogs         = 64       // resumable streams that a session remembers
	maxLogEvents    = 1_000    // events that a resumable stream remembers
	streamBuffer    = 256      // messages that wait for a slow reader of a stream
	defaultRecorded = 1_000
	maxRecordedBody = 1 << 20 // bytes kept of a recorded body
	keepAlive       = 15 * time.Second
	streamPatience  = 30 * time.Second // for a reader of a stream to take one message
	closeGrace      = time.Second      // for handlers to end before, and again after, their connections are cut
)
