package toolset

import (
	"strings"
	"unicode/utf8"
)

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

// Patterns are glob patterns (`*` any characters, `?` one), case-sensitive and
// anchored, prepared to match many names.
type Patterns struct {
	exact map[string]bool
	globs []glob
}

// glob is a pattern with a wildcard. Without ?, the text between its stars is
// searched in order.
type glob struct {
	pattern     string
	single      bool // has ?
	first, last string
	middle      []string
}

// NewPatterns returns the prepared patterns.
func NewPatterns(patterns []string) Patterns {
	p := Patterns{exact: map[string]bool{}}
	for _, text := range patterns {
		if !strings.ContainsAny(text, "*?") {
			p.exact[text] = true
			continue
		}
		g := glob{pattern: text, single: strings.Contains(text, "?")}
		if !g.single {
			parts := strings.Split(text, "*")
			g.first, g.last, g.middle = parts[0], parts[len(parts)-1], parts[1:len(parts)-1]
		}
		p.globs = append(p.globs, g)
	}
	return p
}

// Match reports whether one of the patterns matches s.
func (p *Patterns) Match(s string) bool {
	if p.exact[s] {
		return true
	}
	for i := range p.globs {
		if p.globs[i].match(s) {
			return true
		}
	}
	return false
}

func (g *glob) match(s string) bool {
	if g.single {
		return matchGlob(g.pattern, s)
	}
	if len(s) < len(g.first)+len(g.last) || !strings.HasPrefix(s, g.first) || !strings.HasSuffix(s, g.last) {
		return false
	}
	s = s[len(g.first) : len(s)-len(g.last)]
	for _, text := range g.middle {
		_, rest, found := strings.Cut(s, text)
		if !found {
			return false
		}
		s = rest
	}
	return true
}
