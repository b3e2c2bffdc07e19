package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"mcpgateway/services/fault"
)

// NoTimeout is the delay for an upstream without a stream: no retry in this
// session.
const NoTimeout time.Duration = -1

// streamBackoff is the backoff of a stream that keeps ending.
type streamBackoff struct {
	failures int // in a row
}

// BackOff returns the delay after a failure.
func (p *streamBackoff) BackOff() time.Duration {
	wait := min(defaultRetryTime<<min(p.failures, 10), maxWatchRetryTime)
	p.failures++
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}

// Again returns the delay after the end of a stream. A stream with an event, or
// one that lasted at least steadyTime, is not a failure.
func (p *streamBackoff) Again(spoke bool, lived, retry time.Duration) time.Duration {
	if !spoke && lived < steadyTime {
		return p.BackOff()
	}
	p.failures = 0
	return max(retry, defaultRetryTime)
}

// GetStream is the GET stream of one session across reconnections (MCP
// 2025-03-26, "Listening for Messages from the Server").
type GetStream struct {
	streamBackoff
	Opened bool   // it was open at least once
	LastID string // last event ID
}

// Read opens the stream and reads it to its end. It resumes after the last
// event, if any, and calls opened when the stream is open. wait is the delay
// before the next attempt, or Forever if the upstream has no stream. over
// reports that the upstream has lost the session.
func (g *GetStream) Read(ctx context.Context, s *Streamable, x *Exchange, opened func(resumed bool)) (wait time.Duration, over bool) {
	began, resumed, before := time.Now(), g.LastID != "", g.Opened
	end := s.Listen(ctx, x, g.LastID, func() {
		began, g.Opened = time.Now(), true
		opened(resumed)
	})
	if end.lastID != "" {
		g.LastID = end.lastID
	}
	var away *Refusal
	switch {
	case ctx.Err() != nil:
	case errors.As(end.Err, &away) && resumed && away.status == http.StatusBadRequest:
		g.LastID = "" // the upstream no longer has the event
	case fault.Is(end.Err, fault.CodeUpstreamInvalidResponse) && end.opened:
		g.LastID = "" // do not request an invalid event again
	case end.IsRefused() && before && s.Session:
		return 0, true // it had a stream and now rejects it, so it was restarted
	case end.IsRefused() && !before:
		return NoTimeout, false
	}
	return g.Again(end.sawEvent, time.Since(began), end.Retry), false
}
