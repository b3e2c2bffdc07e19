package toolset

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
		if matchGlob([]rune(p), []rune(s)) {
			return true
		}
	}
	return false
}

// matchGlob backtracks only to the last star, so no pattern costs more than
// len(p) × len(s) steps.
func matchGlob(p, s []rune) bool {
	pi, si, star, mark := 0, 0, -1, 0
	for si < len(s) {
		switch {
		case pi < len(p) && p[pi] == '*':
			star, mark = pi, si
			pi++
		case pi < len(p) && (p[pi] == '?' || p[pi] == s[si]):
			pi++
			si++
		case star >= 0:
			mark++
			pi, si = star+1, mark
		default:
			return false
		}
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}

// Patterns are glob patterns (`*` any characters, `?` one), case-sensitive and
// anchored.
type Patterns []string

// Match reports whether one of the patterns matches s.
func (p Patterns) Match(s string) bool { return matchesAny(p, s) }
