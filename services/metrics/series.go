package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// series contains the histograms of a metric by labels. Lookups take no lock;
// adding or dropping creates a new table.
type series[K comparable] struct {
	table    atomic.Pointer[map[K]*histogram]
	limit    int // maximum number of histograms
	overflow K   // labels of the events beyond limit

	mu sync.Mutex // guards changes
}

func newSeries[K comparable](limit int, overflow K) *series[K] {
	s := &series[K]{limit: limit, overflow: overflow}
	s.table.Store(&map[K]*histogram{})
	return s
}

// of returns the histogram of the labels, or the overflow histogram if the
// table is full.
func (s *series[K]) of(labels K) *histogram {
	if h, ok := (*s.table.Load())[labels]; ok {
		return h
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *s.table.Load()
	if _, ok := now[labels]; !ok && len(now) >= s.limit {
		labels = s.overflow
	}
	if h, ok := now[labels]; ok {
		return h
	}
	next, h := maps.Clone(now), newHistogram()
	next[labels] = h
	s.table.Store(&next)
	return h
}

// keep drops the histograms with obsolete labels.
func (s *series[K]) keep(means func(K) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(*s.table.Load())
	maps.DeleteFunc(next, func(labels K, _ *histogram) bool { return labels != s.overflow && !means(labels) })
	s.table.Store(&next)
}

func (s *series[K]) all() map[K]*histogram { return *s.table.Load() }
