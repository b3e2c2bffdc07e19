package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// series are the histograms of one metric by their labels. To find one takes
// no lock; what is added or dropped makes a new table.
type series[K comparable] struct {
	table atomic.Pointer[map[K]*histogram]
	most  int // how many are kept
	rest  K   // the labels of those that are not

	mu sync.Mutex // of changes
}

func newSeries[K comparable](most int, rest K) *series[K] {
	s := &series[K]{most: most, rest: rest}
	s.table.Store(&map[K]*histogram{})
	return s
}

// of returns the histogram of the labels, or that of all for which there is no
// room.
func (s *series[K]) of(labels K) *histogram {
	if h, ok := (*s.table.Load())[labels]; ok {
		return h
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *s.table.Load()
	if _, ok := now[labels]; !ok && len(now) >= s.most {
		labels = s.rest
	}
	if h, ok := now[labels]; ok {
		return h
	}
	next, h := maps.Clone(now), newHistogram()
	next[labels] = h
	s.table.Store(&next)
	return h
}

// keep drops the histograms whose labels no longer mean anything.
func (s *series[K]) keep(means func(K) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(*s.table.Load())
	maps.DeleteFunc(next, func(labels K, _ *histogram) bool { return labels != s.rest && !means(labels) })
	s.table.Store(&next)
}

func (s *series[K]) all() map[K]*histogram { return *s.table.Load() }
