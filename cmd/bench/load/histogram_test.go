package load_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mcpgateway/cmd/bench/load"
)

func TestQuantilesAreExactToTheWidthOfABucket(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() time.Duration{
		"nanoseconds":  func() time.Duration { return time.Duration(random.IntN(300)) },
		"microseconds": func() time.Duration { return time.Duration(random.IntN(500_000)) },
		"wide":         func() time.Duration { return time.Duration(1) << random.IntN(62) },
		"a long tail":  func() time.Duration { return time.Duration(100_000 / (1 - random.Float64())) },
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
					t.Errorf("quantile %v is %d, among the durations it is %d", q, got, want)
				}
				if merged := first.Quantile(q); merged != got {
					t.Errorf("quantile %v of merged histograms is %d, not %d", q, merged, got)
				}
			}
			if whole.Count() != len(all) || first.Count() != len(all) {
				t.Errorf("%d and %d were counted, not %d", whole.Count(), first.Count(), len(all))
			}
		})
	}
}

func TestTheEdgesOfTheHistogram(t *testing.T) {
	var h load.Histogram
	if h.Quantile(0.5) != 0 || h.Count() != 0 {
		t.Errorf("an empty histogram has the median %v of %d", h.Quantile(0.5), h.Count())
	}
	h.Add(-time.Second)
	if h.Quantile(1) != 0 {
		t.Errorf("a negative duration counts as %v", h.Quantile(1))
	}
	for _, d := range []time.Duration{127, 128, 129, 255, 256, 257, 1<<63 - 1} {
		h = load.Histogram{}
		h.Add(d)
		if got := h.Quantile(0.5); got != d {
			t.Errorf("the median of %d alone is %d", d, got)
		}
	}
}
