// Package nearest finds the name that a mistyped one probably stands for.
package nearest

import "strings"

const (
	// maxCandidates is the maximum number of names compared.
	maxCandidates = 5_000
	// maxNameBytes is the maximum length of compared names.
	maxNameBytes = 64
)

// Name returns the candidate that the mistyped name most likely stands for, or
// "" if none is similar.
func Name(name string, candidates []string) string {
	best, bestCost := "", 0
	key := nameKey(name)
	if key == "" || len(key) > maxNameBytes {
		return ""
	}
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		other := nameKey(c)
		if other == "" || len(other) > maxNameBytes {
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
			cost = 2 + Distance(key, other)
			if close := cost-2 <= max(1, min(len(key), len(other))/3); !close && !abbreviates(key, other) {
				continue
			}
		}
		if best == "" || cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

// abbreviates reports whether short is long without some of its letters, such
// as "args" for "arguments". The first two letters must be equal.
func abbreviates(short, long string) bool {
	if len(short) < 3 || len(long) < 3 || short[:2] != long[:2] {
		return false
	}
	rest := short
	for i := 0; i < len(long) && rest != ""; i++ {
		if long[i] == rest[0] {
			rest = rest[1:]
		}
	}
	return rest == ""
}

// nameKey returns a name without differences in naming style.
func nameKey(s string) string {
	if len(s) > 2*maxNameBytes {
		return ""
	}
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(s))
}
