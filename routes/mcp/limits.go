package mcp

import "time"

// Limits for streams and pending requests (contract, "Limits").
const (
	// streamDelay is the time after which the response of a running call becomes a
	// stream. Its keep-alive comments prevent timeouts of proxies and clients.
	streamDelay = 15 * time.Second
	// maxAsks is the maximum number of pending requests to the client of a
	// session.
	maxAsks = 64
	// maxPosted is the maximum number of concurrent requests of an HTTP+SSE
	// session.
	maxPosted = 16
	// listenTimeout is the maximum time for subscribing to resources before a
	// stream starts. Resources that take longer are not agreed.
	listenTimeout = 5 * time.Second
	// streamRetry is the Retry-After when too many requests are running.
	streamRetry = 10 * time.Second
)
