//go:build linux || darwin

package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mcpgateway/services/runner/process"
)

// traceEvery is the time between two scans of the descendants of the runner.
// Changes of the programs' states cause more.
const traceEvery = time.Second

// traceFile has the descendants that the next runner could not recognize.
func (r *Runner) traceFile() string { return filepath.Join(r.o.State, "processes") }

// trace stores the descendants that cleared their environment until ctx ends, for
// the case that guard and runner end together.
func (r *Runner) trace(ctx context.Context) {
	changes, end := r.changed.subscribe()
	defer end()
	var stored []process.Identity
	for pause(ctx, eventPause) {
		now := process.Unmarked()
		if !slices.Equal(now, stored) {
			if raw, err := json.Marshal(now); err == nil && os.WriteFile(r.traceFile(), raw, 0o600) == nil {
				stored = now
			}
		}
		timer := time.NewTimer(traceEvery)
		select {
		case <-timer.C:
		case <-changes:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// sweepTraces kills the stored processes that still exist and returns their
// number.
func (r *Runner) sweepTraces() int {
	var stored []process.Identity
	raw, err := os.ReadFile(r.traceFile())
	if err != nil || json.Unmarshal(raw, &stored) != nil {
		return 0
	}
	_ = os.Remove(r.traceFile())
	return process.KillSame(stored)
}
