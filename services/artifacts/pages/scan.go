package pages

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/rawjson"
)

// The functions of this file read valid JSON only.

// IsPageable reports whether valid JSON is an array or object that can be cut
// between values: see MaxDepth, MaxName and MaxWhole.
func IsPageable(raw []byte) bool {
	if kind := rawjson.Kind(raw); kind != '{' && kind != '[' {
		return false
	}
	if rawjson.CheckDepth(raw, MaxDepth) != nil {
		return false
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end := skipString(raw, i)
			if end-i > MaxName && isName(raw, end) {
				return false
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := skipScalar(raw, i)
			if end-i > MaxWhole {
				return false
			}
			i = end
		default:
			i++
		}
	}
	return true
}

// isName reports whether the string that ends at an index is the name of a member.
func isName(raw []byte, end int) bool {
	end = space(raw, end)
	return end < len(raw) && raw[end] == ':'
}

func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value at an index.
func skip(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
	default:
		return skipScalar(raw, i)
	}
	for depth := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(raw)
}

func skipScalar(raw []byte, i int) int {
	for i < len(raw) && !strings.ContainsRune(",]} \n\t\r", rune(raw[i])) {
		i++
	}
	return i
}

// child is an element of an array or a member of an object.
type child struct {
	index int
	start int    // of the name, or else of the value
	name  []byte // quoted; nil in arrays
	value int
	end   int
}

// children calls visit for the children of the container at an index, until it
// returns false.
func children(raw []byte, i int, visit func(child) bool) {
	named := raw[i] == '{'
	i = space(raw, i+1)
	for index := 0; i < len(raw) && raw[i] != '}' && raw[i] != ']'; index++ {
		c := child{index: index, start: i, value: i}
		if named {
			end := skipString(raw, i)
			c.name = raw[i:end]
			c.value = space(raw, space(raw, end)+1)
		}
		c.end = skip(raw, c.value)
		if !visit(c) {
			return
		}
		if i = space(raw, c.end); i < len(raw) && raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
}

// pointer appends the reference token of a child to a JSON pointer.
func (c child) pointer(to string) string {
	if c.name == nil {
		return to + "/" + strconv.Itoa(c.index)
	}
	name, _ := rawjson.String(c.name)
	return to + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// unit returns the end of the character or escape at an index inside a string. A
// surrogate pair is one unit.
func unit(raw []byte, i int) int {
	if raw[i] != '\\' {
		_, size := utf8.DecodeRune(raw[i:])
		return i + size
	}
	if raw[i+1] != 'u' {
		return i + 2
	}
	high := raw[i+2 : i+6]
	if c := high[1] | 0x20; high[0]|0x20 == 'd' && (c == '8' || c == '9' || c == 'a' || c == 'b') && i+12 <= len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' && raw[i+8]|0x20 == 'd' {
		if c := raw[i+9] | 0x20; c >= 'c' && c <= 'f' {
			return i + 12
		}
	}
	return i + 6
}

// boundary returns the last end of a unit of the string at start that is at most
// at, and the first one after it.
func boundary(raw []byte, start, at int) (before, after int) {
	last := skipString(raw, start) - 1
	i := start + 1
	for i < last {
		next := unit(raw, i)
		if next > at {
			return i, next
		}
		i = next
	}
	return i, i
}
