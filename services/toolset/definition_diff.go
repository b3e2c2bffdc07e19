package toolset

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxDiffLines is the maximum number of lines of each compared definition.
const maxDiffLines = 1_500

// DiffLine is a line of a comparison: ' ' for unchanged, '-' for removed, '+'
// for added lines.
type DiffLine struct {
	Op   byte
	Text string
}

// DiffDefinitions compares two raw definitions, or values in them, as indented JSON
// by line. An empty value has no lines. ok is false if one is invalid JSON or too
// long.
func DiffDefinitions(before, after []byte) (lines []DiffLine, ok bool) {
	a, okA := indentedLines(before)
	b, okB := indentedLines(after)
	if !okA || !okB {
		return nil, false
	}
	return diffLines(a, b), true
}

// DiffTexts compares two texts by line. ok is false if one is too long.
func DiffTexts(before, after string) (lines []DiffLine, ok bool) {
	a, b := textLines(before), textLines(after)
	if len(a) > maxDiffLines || len(b) > maxDiffLines {
		return nil, false
	}
	return diffLines(a, b), true
}

// textLines returns the lines of a text; an empty text has none.
func textLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func diffLines(a, b []string) (lines []DiffLine) {
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, DiffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, DiffLine{'-', a[i]})
			i++
		default:
			lines = append(lines, DiffLine{'+', b[j]})
			j++
		}
	}
	return lines
}

func indentedLines(raw []byte) ([]string, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return nil, false
	}
	lines := strings.Split(b.String(), "\n")
	return lines, len(lines) <= maxDiffLines
}
