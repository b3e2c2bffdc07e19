package toolset

import (
	"iter"
	"strings"
)

// Patterns are glob patterns (`*` any characters, `?` one), case-sensitive and
// anchored, prepared to match many names.
type Patterns struct {
	exact map[string]bool
	globs []*glob            // without a key
	byKey map[uint32][]*glob // a name without the key can't match them
}

// glob is a pattern with a wildcard. Without ?, the text between its stars is
// searched in order.
type glob struct {
	pattern     string
	single      bool // has ?
	first, last string
	middle      []string
}

// Keys are parts of keyBytes bytes of a pattern, from the first keyedBytes of its
// longest text without wildcards.
const (
	keyBytes   = 4
	keyedBytes = 64
)

// NewPatterns returns the prepared patterns.
func NewPatterns(patterns []string) Patterns {
	p := Patterns{exact: map[string]bool{}, byKey: map[uint32][]*glob{}}
	uses := map[uint32]int{} // of parts
	var globs []*glob
	for _, text := range patterns {
		if !strings.ContainsAny(text, "*?") {
			p.exact[text] = true
			continue
		}
		g := newGlob(text)
		globs = append(globs, g)
		for key := range keysOf(g.longest()) {
			uses[key]++
		}
	}
	for _, g := range globs {
		best, least := uint32(0), 0
		for key := range keysOf(g.longest()) {
			if least == 0 || uses[key] < least {
				best, least = key, uses[key]
			}
		}
		if least == 0 {
			p.globs = append(p.globs, g)
		} else {
			p.byKey[best] = append(p.byKey[best], g)
		}
	}
	return p
}

func newGlob(text string) *glob {
	g := &glob{pattern: text, single: strings.Contains(text, "?")}
	if !g.single {
		parts := strings.Split(text, "*")
		g.first, g.last, g.middle = parts[0], parts[len(parts)-1], parts[1:len(parts)-1]
	}
	return g
}

// longest returns the longest text of the pattern without wildcards, clipped.
func (g *glob) longest() string {
	longest := ""
	for part := range strings.FieldsFuncSeq(g.pattern, func(r rune) bool { return r == '*' || r == '?' }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest[:min(len(longest), keyedBytes)]
}

// keysOf yields all parts of keyBytes bytes of a text.
func keysOf(s string) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := 0; i+keyBytes <= len(s); i++ {
			if !yield(uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24) {
				return
			}
		}
	}
}

// Match reports whether one of the patterns matches s.
func (p *Patterns) Match(s string) bool {
	if p.exact[s] || anyMatch(p.globs, s) {
		return true
	}
	if len(p.byKey) == 0 {
		return false
	}
	for key := range keysOf(s) {
		if anyMatch(p.byKey[key], s) {
			return true
		}
	}
	return false
}

func anyMatch(globs []*glob, s string) bool {
	for _, g := range globs {
		if g.match(s) {
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
