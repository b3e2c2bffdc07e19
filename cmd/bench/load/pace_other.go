//go:build !linux

package load

import "time"

// fineTimer does nothing: only Linux lets a thread ask for exact timers.
func fineTimer() {}

// sleepUntil returns at the given time or shortly afterwards.
func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }
