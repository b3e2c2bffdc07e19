package measure

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is a table of strings. Every row has as many cells as the head.
type Table struct {
	Head []string
	Rows [][]string
	Note string // shown below the table
}

// WriteMarkdown writes the table as Markdown.
func (t *Table) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(t.Head)
	b.WriteString(strings.Repeat("|---", len(t.Head)) + "|\n")
	for _, row := range t.Rows {
		line(row)
	}
	if t.Note != "" {
		b.WriteString("\n" + t.Note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes the table as text. The first column is left-aligned, the others
// are right-aligned.
func (t *Table) WriteText(w io.Writer) error {
	width := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString(cell + space)
			} else {
				b.WriteString("  " + space + cell)
			}
		}
		b.WriteString("\n")
	}
	if t.Note != "" {
		b.WriteString(t.Note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// FormatNumber returns v with at least three digits: 0.0123, 1.23, 12.3, 123, 12,345.
func FormatNumber(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	decimals := 0
	switch size := math.Abs(v); {
	case size == 0 || size >= 99.95:
	case size >= 9.995:
		decimals = 1
	default:
		decimals = max(2-int(math.Floor(math.Log10(size))), 2)
	}
	whole, rest, _ := strings.Cut(strconv.FormatFloat(math.Abs(v), 'f', decimals, 64), ".")
	if rest != "" {
		rest = "." + rest
	}
	sign := ""
	if v < 0 {
		sign = "-"
	}
	return sign + grouped(whole) + rest
}

// FormatCount returns n with its digits in groups of three.
func FormatCount(n int) string {
	if n < 0 {
		return "-" + FormatCount(-n)
	}
	return grouped(strconv.Itoa(n))
}

func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// FormatMicros returns a duration given in microseconds as µs, ms or s.
func FormatMicros(us float64) string {
	switch size := math.Abs(us); {
	case size >= 1e6:
		return FormatNumber(us/1e6) + " s"
	case size >= 1e3:
		return FormatNumber(us/1e3) + " ms"
	default:
		return fmt.Sprintf("%.0f µs", us)
	}
}

// FormatMiB returns a size given in MiB.
func FormatMiB(v float64) string { return fmt.Sprintf("%.1f MiB", v) }
