//go:build chaos || flood

package main_test

import (
	"slices"
	"time"
)

// quantile returns the smallest duration that the share q of all does not
// exceed, and 0 of none.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
