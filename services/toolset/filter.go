package toolset

import "unicode/utf8"

// Filter selects the allowed tools of a server.
type Filter struct{ allow, deny []string }

// NewFilter returns the filter of glob patterns (`*` any characters, `?` one)
// over upstream tool names. Patterns are case-sensitive and anchored. Without
// allow patterns every tool is allowed; deny patterns override.
func NewFilter(allow, deny []string) Filter { return Filter{allow: allow, deny: deny} }

// Allows reports whether the tool passes the filter.
func (f Filter) Allows(tool string) bool {
	return (len(f.allow) == 0 || matchesAny(f.allow, tool)) && !matchesAny(f.deny, tool)
}

func matchesAny(patterns []string, s string) bool {
	for _, p := range patterns {
		if matchGlob(p, s) {
			return true
		}
	}
	return false
}

// MatchGlob reports whether a glob pattern matches s: `*` any characters, `?`
// one, case-sensitive and anchored.
func MatchGlob(pattern, s string) bool { return matchGlob(pattern, s) }

// matchGlob backtracks only to the last star, so no pattern costs more than
// len(p) × len(s) steps.
func matchGlob(p, s string) bool {
	star, mark := -1, 0
	pi, si := 0, 0
	for si < len(s) {
		char, width := utf8.DecodeRuneInString(s[si:])
		if pi < len(p) && p[pi] == '*' {
			star, mark = pi, si
			pi++
			continue
		}
		if pi < len(p) {
			if wanted, size := utf8.DecodeRuneInString(p[pi:]); wanted == '?' || wanted == char {
				pi += size
				si += width
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, skipped := utf8.DecodeRuneInString(s[mark:])
		mark += skipped
		pi, si = star+1, mark
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}
