package addresses

import (
	"bytes"

	"mcpgateway/services/rawjson"
)

// mentions reports whether raw JSON may contain a qualified address of a server:
// the alias after a plus sign, which can be percent-encoded or escaped.
func mentions(raw []byte, alias string) bool {
	for i, c := range raw {
		if c != '+' && c|0x20 != 'b' || len(raw)-i <= len(alias) {
			continue
		}
		if bytes.EqualFold(raw[i+1:i+1+len(alias)], []byte(alias)) {
			return true
		}
	}
	return false
}

// editStrings returns valid JSON with its strings edited, except for the names
// of members.
func editStrings(raw []byte, edit func(string) string) []byte {
	var edited []byte // up to raw[copied]
	copied := 0
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			i++
			continue
		}
		start, end := i, endOfString(raw, i)
		i = end
		if isName(raw, end) {
			continue
		}
		text, ok := rawjson.String(raw[start:end])
		if !ok {
			continue
		}
		if next := edit(text); next != text {
			edited = append(append(edited, raw[copied:start]...), rawjson.Quote(next)...)
			copied = end
		}
	}
	if copied == 0 {
		return raw
	}
	return append(edited, raw[copied:]...)
}

// endOfString returns the index after the string that starts at raw[i].
func endOfString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// isName reports whether a colon follows raw[:end].
func isName(raw []byte, end int) bool {
	rest := bytes.TrimLeft(raw[end:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
