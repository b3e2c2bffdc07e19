package measure

import (
	"context"
	"time"

	"mcpgateway/cmd/bench/load"
)

// minRepeats is the minimum number of measurements.
const minRepeats = 10

// repeat calls do for d, at least minRepeats times, and returns the durations. It
// doesn't measure the first call, which can fill caches.
func repeat(ctx context.Context, d time.Duration, do func() error) (*load.Histogram, error) {
	var h load.Histogram
	if err := do(); err != nil {
		return nil, err
	}
	for began := time.Now(); time.Since(began) < d || h.Count() < minRepeats; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := time.Now()
		if err := do(); err != nil {
			return nil, err
		}
		h.Add(time.Since(at))
	}
	return &h, nil
}
