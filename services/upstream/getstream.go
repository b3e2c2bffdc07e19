package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"mcpgateway/services/fault"
)

// forever is how long to wait for an upstream that has nothing to say.
const forever time.Duration = -1

// pace says when to try again what keeps ending.
type pace struct {
	failures int // in a row
}

// backOff returns how long to wait after a failure.
func (p *pace) backOff() time.Duration {
	wait := min(defaultRetryTime<<min(p.failures, 10), maxWatchRetryTime)
	p.failures++
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}

// again returns how long to wait behind the end of a stream. One that brought
// something or held for a while is no failure.
func (p *pace) again(spoke bool, lived, retry time.Duration) time.Duration {
	if !spoke && lived < steadyTime {
		return p.backOff()
	}
	p.failures = 0
	return max(retry, defaultRetryTime)
}

// getStream is the GET stream of one session in the course of its openings
// (MCP 2025-03-26, "Listening for Messages from the Server").
type getStream struct {
	pace
	opened bool   // it was open
	lastID string // of its last event with an id
}

// read opens the stream, behind the last event if there was one, and reads it
// to its end. opened is called when it is open. wait is how long to wait
// before the next opening, forever when the upstream has no stream. With over,
// the upstream knows nothing of the session any more.
func (g *getStream) read(ctx context.Context, s *streamable, x *exchange, opened func(resumed bool)) (wait time.Duration, over bool) {
	began, resumed, before := time.Now(), g.lastID != "", g.opened
	end := s.listen(ctx, x, g.lastID, func() {
		began, g.opened = time.Now(), true
		opened(resumed)
	})
	if end.lastID != "" {
		g.lastID = end.lastID
	}
	var away *refusal
	switch {
	case ctx.Err() != nil:
	case errors.As(end.err, &away) && resumed && away.status == http.StatusBadRequest:
		g.lastID = "" // it does not know the event any more
	case fault.Is(end.err, fault.CodeUpstreamInvalidResponse) && end.opened:
		g.lastID = "" // what cannot be read need not come again
	case end.isRefused() && before && s.session:
		return 0, true // it had a stream and now knows nothing of it, so it was restarted
	case end.isRefused() && !before:
		return forever, false
	}
	return g.again(end.spoke, time.Since(began), end.retry), false
}
