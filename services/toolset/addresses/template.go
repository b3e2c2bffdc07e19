package addresses

import (
	"strings"
)

// template matches the URIs of a URI template (RFC 6570). Expressions whose
// operator can produce slashes match them, others match within a path segment.
type template struct {
	literals []string // around the expressions
	wide     []bool   // by expression; whether it matches slashes
}

func parseTemplate(text string) template {
	var t template
	start := 0 // of the current literal
	for {
		inner, from, to := nextExpression(text, start)
		if from < 0 {
			t.literals = append(t.literals, text[start:])
			return t
		}
		t.literals = append(t.literals, text[start:from])
		t.wide = append(t.wide, inner != "" && strings.ContainsRune("+#/", rune(inner[0])) || strings.HasSuffix(inner, "*"))
		start = to
	}
}

// nextExpression returns the first expression from start on, a brace pair
// without braces inside. from is negative if there is none.
func nextExpression(text string, start int) (inner string, from, to int) {
	from = -1
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '{':
			from = i
		case '}':
			if from >= 0 {
				return text[from+1 : i], from, i + 1
			}
		}
	}
	return "", -1, -1
}

// beginning returns the text before the first expression.
func (t *template) beginning() string { return t.literals[0] }

// matches reports whether the template can expand to a URI. The time is bounded
// by the product of the numbers of expressions and bytes.
func (t *template) matches(uri string) bool {
	last := t.literals[len(t.literals)-1]
	if len(t.wide) == 0 {
		return uri == last
	}
	rest, ok := strings.CutPrefix(uri, t.literals[0])
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, last); !ok {
		return false
	}
	if len(t.wide) == 1 {
		return t.wide[0] || !strings.Contains(rest, "/")
	}
	reached := make([]bool, len(rest)+1) // by the parts so far, at each offset
	reached[0] = true
	for i, wide := range t.wide {
		expand(reached, rest, wide)
		if i < len(t.wide)-1 {
			reached = advance(reached, rest, t.literals[i+1])
		}
	}
	return reached[len(rest)]
}

// expand marks the offsets that an expression reaches from the marked ones.
func expand(reached []bool, text string, wide bool) {
	on := false
	for i := range reached {
		on = on || reached[i]
		reached[i] = on
		if i < len(text) && text[i] == '/' && !wide {
			on = false
		}
	}
}

// advance returns the offsets after a literal that starts at a marked one.
func advance(reached []bool, text, literal string) []bool {
	next := make([]bool, len(reached))
	for i := range reached {
		if reached[i] && strings.HasPrefix(text[i:], literal) {
			next[i+len(literal)] = true
		}
	}
	return next
}
