//go:build !linux

package load

import "time"

// fineTimer does nothing: only Linux has precise timers per thread.
func fineTimer() {}

// sleepUntil returns at the given time or shortly after.
func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }
