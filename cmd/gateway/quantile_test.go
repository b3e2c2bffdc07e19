//go:build chaos || flood

package main_test

import (
	"slices"
	"time"
)

// quantile returns the q-quantile of the durations, or 0 if there are none.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
