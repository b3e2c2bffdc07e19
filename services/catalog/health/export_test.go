package health

import (
	"context"
	"time"
)

// PauseOf exposes pauseOf.
var PauseOf = pauseOf

// Step runs one step of Run.
func (c *Checker) Step(ctx context.Context) (time.Duration, error) { return c.step(ctx) }
