package load

import (
	"math/bits"
	"time"
)

// steps is the binary logarithm of the number of buckets between two powers of
// two: 128 buckets give durations a precision of 0.8 %.
const steps = 7

// Histogram counts durations in buckets whose width grows with the duration. Its
// size is constant. The zero value is ready to use. It is not safe for concurrent
// use.
type Histogram struct {
	counts  [(65 - steps) << steps]uint64
	total   uint64
	longest time.Duration
}

// bucket returns the index of a duration's bucket.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 1<<steps {
		return int(v)
	}
	drop := bits.Len64(v) - 1 - steps // low bits ignored within a bucket
	return drop<<steps + int(v>>drop)
}

// upper returns the longest duration of a bucket.
func upper(bucket int) time.Duration {
	if bucket < 2<<steps {
		return time.Duration(bucket)
	}
	drop := bucket>>steps - 1
	first := bucket - drop<<steps
	return time.Duration((uint64(first)+1)<<drop - 1)
}

// Add counts a duration. Negative durations count as zero.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucket(d)]++
	h.total++
	h.longest = max(h.longest, d)
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.longest = max(h.longest, other.longest)
}

// Count returns the number of durations.
func (h *Histogram) Count() int { return int(h.total) }

// Quantile returns the q-quantile (0 ≤ q ≤ 1) with a precision of 0.8 %, or 0 if
// there are no durations.
func (h *Histogram) Quantile(q float64) time.Duration {
	wanted := max(uint64(q*float64(h.total)+0.5), 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= wanted {
			return min(upper(i), h.longest)
		}
	}
	return h.longest
}
