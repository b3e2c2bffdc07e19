package analyzer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxClauses is the maximum number of a task's clauses ranked separately.
const maxClauses = 12

// Clauses splits a task after sentences and clauses. At the limit, the
// last clause contains the rest.
func Clauses(task string) []Span {
	var out []Span
	begin := 0
	for i, r := range task {
		if len(out) == maxClauses-1 {
			break
		}
		size := utf8.RuneLen(r)
		if !endsClause(r, task[i+size:]) {
			continue
		}
		if clause := task[begin:i]; strings.TrimSpace(clause) != "" {
			out = append(out, Span{begin, i})
		}
		begin = i + size
	}
	if rest := task[begin:]; strings.TrimSpace(rest) != "" {
		out = append(out, Span{begin, len(task)})
	}
	return out
}

// endsClause reports whether r, followed by rest, ends a clause, unlike the
// point in "3.5" or "api.example".
func endsClause(r rune, rest string) bool {
	switch r {
	case '\n', ';', '!', '?', '。', '！', '？', '；', '，', '、', '：':
		return true
	case '.', ',', ':':
		next, _ := utf8.DecodeRuneInString(rest)
		return rest == "" || unicode.IsSpace(next)
	}
	return false
}
