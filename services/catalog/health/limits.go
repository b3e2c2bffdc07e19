package health

import "time"

// Limits of checks.
const (
	requestTimeout = 15 * time.Second // of the handshake, and of listing the tools
	maxManual      = 4                // checks that administrators run at once
	maxMessage     = 300              // characters of a stored reason
	maxTools       = 500              // stored tools
	maxName        = 128              // characters of the name of a tool and of a parameter
	maxParameters  = 50               // stored names of a tool's parameters
	maxListed      = 64 << 10         // bytes of names; then parameters are left out
)

// Times of the daily checks.
const (
	day             = 24 * time.Hour
	minPause        = time.Second // between two servers
	idlePause       = time.Minute // while no server is due
	publishInterval = time.Minute // between announcements, because every process loads the catalog again
)
