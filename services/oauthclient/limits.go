package oauthclient

import "time"

// Limits of connections (contract, "Limits"; MCP 2025-11-25, "Authorization").
const (
	FlowLifetime = 10 * time.Minute // from the start to the callback
	RefreshShare = 0.8              // of an access token's life, when it is renewed

	requestTimeout  = 10 * time.Second // of one request to an authorization server
	discoverTimeout = 30 * time.Second // of finding an authorization server
	workTimeout     = 30 * time.Second // of a refresh with its wait for the lock and its write

	refreshSpread   = 0.05 // of a token's life, by which refreshes are spread to the earlier
	forcedSpacing   = time.Minute
	firstRetry      = 2 * time.Second // after a failed refresh; doubles
	lastRetry       = 10 * time.Minute
	refreshTogether = 4                // background refreshes at once
	dueBatch        = 100              // read at once
	longestSleep    = 30 * time.Second // of the background refresher
	shortestSleep   = 50 * time.Millisecond

	saveAttempts = 5
	saveRetry    = 100 * time.Millisecond // doubles

	maxCallback   = 4096             // bytes of one parameter of a callback
	maxCached     = 10_000           // connections in memory
	documentTrust = 10 * time.Minute // how long a judgement of our document's address holds
)
