// Package nearest finds the name that was probably meant by a mistaken one.
package nearest

import "strings"

const (
	maxLength     = 64 // bytes of names that are compared
	maxCandidates = 5_000
)

// Name returns the candidate that a mistaken name was probably meant to be, or
// an empty text when none is near.
func Name(name string, candidates []string) string {
	best, bestCost := "", 0
	key := nameKey(name)
	if key == "" || len(key) > maxLength {
		return ""
	}
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		other := nameKey(c)
		if other == "" || len(other) > maxLength {
			continue
		}
		cost := 0
		switch {
		case key == other:
		case len(other) > 1 && strings.HasPrefix(key, other), len(key) > 1 && strings.HasPrefix(other, key):
			cost = 1
		case len(other) > 2 && strings.HasSuffix(key, other), len(key) > 2 && strings.HasSuffix(other, key):
			cost = 2
		default:
			if cost = 2 + edits(key, other); cost-2 > max(1, min(len(key), len(other))/3) {
				continue
			}
		}
		if best == "" || cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

// nameKey returns a name without the differences of naming styles.
func nameKey(s string) string {
	if len(s) > 2*maxLength {
		return ""
	}
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(s))
}

// edits returns how many bytes must be inserted, deleted or replaced to make
// one text from the other.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
