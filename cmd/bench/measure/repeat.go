package measure

import (
	"context"
	"time"

	"mcpgateway/cmd/bench/load"
)

// minRepeats is how often something slow is measured at least.
const minRepeats = 10

// repeat does something for d, ten times at least, and returns how long it
// took. The first time, which may have to prepare what is then kept, does not
// count.
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
