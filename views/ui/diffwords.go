package ui

import (
	"strings"
	"unicode"
)

// Limits of the comparison of words.
const (
	maxDiffWords   = 400 // of each of two compared lines; longer lines have no marks
	minCommonShare = 3   // lines with less than 1/3 of common words have no marks
)

// diffRow is a rendered line of a diff.
type diffRow struct {
	op     byte
	number int // of the line in its text
	skip   int
	parts  []diffPart
}

// diffPart is a piece of a line.
type diffPart struct {
	text    string
	changed bool
}

// diffRows numbers the lines and marks the words that differ between lines that
// replace each other.
func diffRows(lines []DiffLine) []diffRow {
	rows := make([]diffRow, 0, len(lines))
	before, after := 0, 0
	for _, l := range lines {
		row := diffRow{op: l.Op, skip: l.Skip, parts: []diffPart{{text: revealed(l.Text)}}}
		switch l.Op {
		case '-':
			before++
			row.number = before
		case '+':
			after++
			row.number = after
		case '@':
			before, after = before+l.Skip, after+l.Skip
		default:
			before, after = before+1, after+1
			row.number = after
		}
		rows = append(rows, row)
	}
	for i := 0; i < len(rows); {
		removed := run(rows[i:], '-')
		added := run(rows[i+removed:], '+')
		for k := range min(removed, added) {
			markWords(&rows[i+k], &rows[i+removed+k])
		}
		i += max(removed+added, 1)
	}
	return rows
}

// run returns the number of rows of a kind at the beginning.
func run(rows []diffRow, op byte) (n int) {
	for n < len(rows) && rows[n].op == op {
		n++
	}
	return n
}

// markWords splits two lines into common and changed parts. Lines with little in
// common remain whole.
func markWords(a, b *diffRow) {
	from, to := splitWords(a.parts[0].text), splitWords(b.parts[0].text)
	if len(from) > maxDiffWords || len(to) > maxDiffWords {
		return
	}
	inFrom, inTo := common(from, to)
	n := 0
	for i, same := range inFrom {
		if same && strings.TrimSpace(from[i]) != "" {
			n++
		}
	}
	if n*minCommonShare < max(solid(from), solid(to)) {
		return
	}
	a.parts, b.parts = joinParts(from, inFrom), joinParts(to, inTo)
}

// solid returns the number of words that aren't white space.
func solid(words []string) (n int) {
	for _, w := range words {
		if strings.TrimSpace(w) != "" {
			n++
		}
	}
	return n
}

// common reports which words of both lines belong to their common subsequence with
// the most characters.
func common(a, b []string) (inA, inB []bool) {
	length := make([][]int, len(a)+1) // of the subsequence of a[i:] and b[j:]
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if a[i] == b[j] {
				length[i][j] = max(length[i][j], length[i+1][j+1]+len(a[i]))
			}
		}
	}
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j] && length[i][j] == length[i+1][j+1]+len(a[i]):
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// joinParts joins adjacent words of the same kind. White space between two changed
// words counts as changed.
func joinParts(words []string, same []bool) []diffPart {
	var parts []diffPart
	for i, word := range words {
		changed := !same[i]
		if !changed && strings.TrimSpace(word) == "" && i > 0 && i+1 < len(words) && !same[i-1] && !same[i+1] {
			changed = true
		}
		if n := len(parts); n > 0 && parts[n-1].changed == changed {
			parts[n-1].text += word
			continue
		}
		parts = append(parts, diffPart{word, changed})
	}
	return parts
}

// splitWords splits a line into words, runs of white space and single other
// characters.
func splitWords(s string) []string {
	kind := func(r rune) int {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	var words []string
	start, last := 0, 0
	for i, r := range s {
		k := kind(r)
		if i > start && (k != last || k == 0) {
			words = append(words, s[start:i])
			start = i
		}
		last = k
	}
	if start < len(s) {
		words = append(words, s[start:])
	}
	return words
}

// revealed returns s with its hidden characters as code points.
func revealed(s string) string {
	var b strings.Builder
	for _, p := range reveal(s) {
		if p.hidden {
			b.WriteString("⟨" + p.text + "⟩")
			continue
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// Hunks replaces unchanged lines by a line of how many were skipped, except for
// some around each change.
func Hunks(lines []DiffLine, around int) []DiffLine {
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.Op != ' ' {
			for k := max(i-around, 0); k <= min(i+around, len(lines)-1); k++ {
				near[k] = true
			}
		}
	}
	var out []DiffLine
	for i, l := range lines {
		n := len(out)
		switch {
		case near[i]:
			out = append(out, l)
		case n > 0 && out[n-1].Op == '@':
			out[n-1].Skip++
		default:
			out = append(out, DiffLine{Op: '@', Skip: 1})
		}
	}
	return out
}
