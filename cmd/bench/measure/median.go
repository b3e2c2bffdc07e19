package measure

import "slices"

// Median returns the middle of the values, and of an even number of them the
// mean of the two in the middle; 0 of none.
func Median(values ...float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Range is a figure over several rounds.
type Range struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// RangeOf returns the median and the bounds of the values.
func RangeOf(values ...float64) Range {
	if len(values) == 0 {
		return Range{}
	}
	return Range{Median: Median(values...), Min: slices.Min(values), Max: slices.Max(values)}
}
