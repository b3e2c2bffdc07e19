package load

import (
	"math/bits"
	"time"
)

// steps is how many linear steps lie between a power of two and the next, as
// a power of two itself: a duration is kept to 0.8 %.
const steps = 7

// Histogram counts durations in buckets whose width grows with the duration,
// so that it takes the same memory for any number of them. The zero value is
// empty. It is not safe for concurrent use.
type Histogram struct {
	counts  [(65 - steps) << steps]uint64
	total   uint64
	longest time.Duration
}

// bucket returns the place of a duration.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 1<<steps {
		return int(v)
	}
	drop := bits.Len64(v) - 1 - steps // low bits that are not told apart
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

// Add counts one duration; a negative one counts as zero.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucket(d)]++
	h.total++
	h.longest = max(h.longest, d)
}

// Merge adds what other has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.longest = max(h.longest, other.longest)
}

// Count returns how many durations were added.
func (h *Histogram) Count() int { return int(h.total) }

// Quantile returns a bound, exact to 0.8 %, that the share q (0 to 1) of the
// durations does not exceed; 0 when there are none.
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
