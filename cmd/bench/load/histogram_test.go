package load_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mcpgateway/cmd/bench/load"
)

func TestQuantilePrecision(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() time.Duration{
		"nanoseconds":  func() time.Duration { return time.Duration(random.IntN(300)) },
		"microseconds": func() time.Duration { return time.Duration(random.IntN(500_000)) },
		"wide":         func() time.Duration { return time.Duration(1) << random.IntN(62) },
		"long tail":    func() time.Duration { return time.Duration(100_000 / (1 - random.Float64())) },
	} {
		t.Run(name, func(t *testing.T) {
			var whole, first, second load.Histogram
			var all []time.Duration
			for i := range 10_001 {
				d := draw()
				all = append(all, d)
				whole.Add(d)
				if i%3 == 0 {
					first.Add(d)
				} else {
					second.Add(d)
				}
			}
			first.Merge(&second)
			slices.Sort(all)
			for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
				got := whole.Quantile(q)
				want := all[max(int(q*float64(len(all))+0.5), 1)-1]
				if got < want || float64(got) > float64(want)*(1+1.0/128)+1 {
					t.Errorf("Quantile(%v) = %d, want %d", q, got, want)
				}
				if merged := first.Quantile(q); merged != got {
					t.Errorf("Quantile(%v) after Merge = %d, want %d", q, merged, got)
				}
			}
			if whole.Count() != len(all) || first.Count() != len(all) {
				t.Errorf("Count() = %d, after Merge %d, want %d", whole.Count(), first.Count(), len(all))
			}
		})
	}
}

func TestHistogramEdges(t *testing.T) {
	var h load.Histogram
	if h.Quantile(0.5) != 0 || h.Count() != 0 {
		t.Errorf("empty histogram: Quantile(0.5) = %v, Count() = %d, want 0 and 0", h.Quantile(0.5), h.Count())
	}
	h.Add(-time.Second)
	if h.Quantile(1) != 0 {
		t.Errorf("Quantile(1) of a negative duration = %v, want 0", h.Quantile(1))
	}
	for _, d := range []time.Duration{127, 128, 129, 255, 256, 257, 1<<63 - 1} {
		h = load.Histogram{}
		h.Add(d)
		if got := h.Quantile(0.5); got != d {
			t.Errorf("Quantile(0.5) of %d alone = %d", d, got)
		}
	}
}
