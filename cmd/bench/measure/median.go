package measure

import "slices"

// Median returns the median of the values. For an even number of values it is the
// mean of the middle two; for no values it is 0.
func Median(values ...float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Range summarizes a figure over several rounds.
type Range struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// RangeOf returns the median, minimum and maximum of the values.
func RangeOf(values ...float64) Range {
	if len(values) == 0 {
		return Range{}
	}
	return Range{Median: Median(values...), Min: slices.Min(values), Max: slices.Max(values)}
}
