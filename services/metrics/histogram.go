package metrics

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// bounds are the upper limits of the buckets of durations.
var bounds = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, 60 * time.Second,
}

// maxShards limits the memory of a histogram.
const maxShards = 8

// histogram counts durations in shards, which reduces contention for cache
// lines.
type histogram struct{ shards []shard }

type shard struct {
	counts [len(bounds) + 1]atomic.Uint64
	micros atomic.Uint64
	_      [64]byte // keeps shards on separate cache lines
}

func newHistogram() *histogram {
	return &histogram{shards: make([]shard, min(maxShards, runtime.GOMAXPROCS(0)))}
}

func (h *histogram) observe(d time.Duration) {
	bucket := 0
	for bucket < len(bounds) && d > bounds[bucket] {
		bucket++
	}
	s := &h.shards[rand.IntN(len(h.shards))]
	s.counts[bucket].Add(1)
	s.micros.Add(uint64(max(0, d.Microseconds())))
}

// sum is the sum of histograms.
type sum struct {
	counts  [len(bounds) + 1]uint64
	micros  uint64
	samples uint64
}

func (s *sum) add(h *histogram) {
	for i := range h.shards {
		shard := &h.shards[i]
		for b := range s.counts {
			n := shard.counts[b].Load()
			s.counts[b] += n
			s.samples += n
		}
		s.micros += shard.micros.Load()
	}
}

// buckets returns the cumulative counts by bound in seconds.
func (s *sum) buckets() map[float64]uint64 {
	all := make(map[float64]uint64, len(bounds))
	var below uint64
	for i, bound := range bounds {
		below += s.counts[i]
		all[bound.Seconds()] = below
	}
	return all
}
