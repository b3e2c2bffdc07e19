package upstreamtest

import "time"

const (
	maxBody            = 16 << 20 // bytes of a request
	maxDepth           = 512      // nesting of a request
	maxSessions        = 20_000
	maxBatch           = 100 // messages of a batch
	maxHeldConns       = 256
	maxInFlight        = 64       // unanswered requests of one HTTP+SSE session
	maxBig             = 32 << 20 // maximum bytes returned by the tool Big
	maxProgress        = 100_000  // notifications of the tool Progress
	maxLogs            = 64       // resumable streams stored per session
	maxLogEvents       = 1_000    // events stored per resumable stream
	streamBuffer       = 256      // messages queued for a slow reader of a stream
	defaultRecorded    = 1_000
	maxRecordedBody    = 1 << 20 // bytes stored of a recorded body
	keepAlive          = 15 * time.Second
	streamWriteTimeout = 30 * time.Second       // for a stream's client to read a message
	closeGrace         = time.Second            // for handlers to end before, and again after, their connections are closed
	stdioGrace         = 200 * time.Millisecond // for calls in flight at the end of standard input
)
