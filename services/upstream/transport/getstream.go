package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"mcpgateway/services/fault"
)

// Forever is how long to wait for an upstream that has nothing to say.
const Forever time.Duration = -1

// pace says when to try again what keeps ending.
type pace struct {
	failures int // in a row
}

// BackOff returns how long to wait after a failure.
func (p *pace) BackOff() time.Duration {
	wait := min(defaultRetryTime<<min(p.failures, 10), maxWatchRetryTime)
	p.failures++
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}

// Again returns how long to wait behind the end of a stream. One that brought
// something or held for a while is no failure.
func (p *pace) Again(spoke bool, lived, retry time.Duration) time.Duration {
	if !spoke && lived < steadyTime {
		return p.BackOff()
	}
	p.failures = 0
	return max(retry, defaultRetryTime)
}

// GetStream is the GET stream of one session in the course of its openings
// (MCP 2025-03-26, "Listening for Messages from the Server").
type GetStream struct {
	pace
	Opened bool   // it was open
	LastID string // of its last event with an id
}

// Read opens the stream, behind the last event if there was one, and reads it
// to its end. opened is called when it is open. wait is how long to wait
// before the next opening, forever when the upstream has no stream. With over,
// the upstream knows nothing of the session any more.
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
		g.LastID = "" // it does not know the event any more
	case fault.Is(end.Err, fault.CodeUpstreamInvalidResponse) && end.opened:
		g.LastID = "" // what cannot be read need not come again
	case end.IsRefused() && before && s.Session:
		return 0, true // it had a stream and now knows nothing of it, so it was restarted
	case end.IsRefused() && !before:
		return Forever, false
	}
	return g.Again(end.spoke, time.Since(began), end.Retry), false
}
