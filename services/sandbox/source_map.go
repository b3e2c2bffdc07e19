package sandbox

import (
	"encoding/json"
	"errors"
	"strings"
)

// segment maps the text from a column of a compiled line on to a position in
// the source. All count from 0.
type segment struct{ column, line, sourceColumn int }

// sourceMap maps positions in compiled code to its source (ECMA-426).
type sourceMap struct {
	lines [][]segment
	down  int // lines inserted before the compiled ones afterwards
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// parseSourceMap parses a map with one source.
func parseSourceMap(raw []byte) (*sourceMap, error) {
	var doc struct {
		Mappings string `json:"mappings"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	m := &sourceMap{}
	line, column := 0, 0
	for mapped := range strings.SplitSeq(doc.Mappings, ";") {
		var segments []segment
		at := 0
		for part := range strings.SplitSeq(mapped, ",") {
			if part == "" {
				continue
			}
			fields, err := decodeVLQ(part)
			if err != nil {
				return nil, err
			}
			at += fields[0]
			if len(fields) >= 4 {
				line += fields[2]
				column += fields[3]
				segments = append(segments, segment{at, line, column})
			}
		}
		m.lines = append(m.lines, segments)
	}
	return m, nil
}

// decodeVLQ decodes the base64 variable-length quantities of one segment.
func decodeVLQ(s string) ([]int, error) {
	var fields []int
	value, shift := 0, 0
	for i := range len(s) {
		digit := strings.IndexByte(base64Digits, s[i])
		if digit < 0 || shift > 30 {
			return nil, errors.New("invalid source map")
		}
		value |= digit & 31 << shift
		shift += 5
		if digit&32 != 0 {
			continue
		}
		if value&1 != 0 {
			fields = append(fields, -(value >> 1))
		} else {
			fields = append(fields, value>>1)
		}
		value, shift = 0, 0
	}
	if shift != 0 || len(fields) == 0 {
		return nil, errors.New("invalid source map")
	}
	return fields, nil
}

// find returns the source line and column of a compiled position, or -1 for a
// line without a source. All count from 0.
func (m *sourceMap) find(line, column int) (atLine, atColumn int) {
	line -= m.down
	if line < 0 || line >= len(m.lines) || len(m.lines[line]) == 0 {
		return -1, -1
	}
	found := m.lines[line][0]
	for _, s := range m.lines[line] {
		if s.column > column {
			break
		}
		found = s
	}
	return found.line, found.sourceColumn
}
