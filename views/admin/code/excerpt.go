package code

import (
	"fmt"
	"strings"

	"mcpgateway/views/ui"
)

// Line is a line of code around an error.
type Line struct {
	Number int
	Text   string
	Wrong  bool
}

// around is the number of lines shown before and after the wrong one.
const around = 3

// maxExcerptLine is the maximum length of a shown line, in characters.
const maxExcerptLine = 200

// Excerpt returns the lines around the 1-based line, or nil if code has no such
// line.
func Excerpt(code string, line int) []Line {
	lines := strings.Split(code, "\n")
	if line < 1 || line > len(lines) {
		return nil
	}
	var out []Line
	for n := max(1, line-around); n <= min(len(lines), line+around); n++ {
		text := []rune(ui.Clean(strings.ReplaceAll(lines[n-1], "\t", "  ")))
		if len(text) > maxExcerptLine {
			text = append(text[:maxExcerptLine:maxExcerptLine], '…')
		}
		out = append(out, Line{Number: n, Text: string(text), Wrong: n == line})
	}
	return out
}

// String returns the line prefixed with its number.
func (l Line) String() string { return fmt.Sprintf("%4d  %s", l.Number, l.Text) }
