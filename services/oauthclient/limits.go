package oauthclient

import "time"

// Limits of connections (specification, "Limits"; MCP 2025-11-25, "Authorization").
const (
	FlowLifetime = 10 * time.Minute // from Start to the callback
	RefreshShare = 0.8              // of an access token's lifetime, after which it is refreshed

	requestTimeout  = 10 * time.Second // of one request to an authorization server
	discoverTimeout = 30 * time.Second // of discovery
	workTimeout     = 30 * time.Second // of a refresh, including the lock and the write

	refreshSpread   = 0.05 // of a token's lifetime, by which refreshes are randomly advanced
	forcedSpacing   = time.Minute
	disabledKept    = 30 * 24 * time.Hour // connections of a disabled user
	refusedPause    = time.Minute         // after a user's credentials were rejected
	firstRetry      = 2 * time.Second     // backoff after a failed refresh; doubles
	lastRetry       = 10 * time.Minute
	refreshTogether = 4                // concurrent background refreshes
	refreshBatch    = 100              // connections per query
	longestSleep    = 30 * time.Second // of the background refresher
	shortestSleep   = 50 * time.Millisecond
	saveUsesEvery   = time.Minute

	saveAttempts = 5
	saveRetry    = 100 * time.Millisecond // doubles

	maxCallback = 4096 // bytes of one callback parameter
)
