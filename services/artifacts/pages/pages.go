// Package pages cuts stored values into pages: text between characters, JSON
// between values. Every page of JSON is valid JSON, and all pages together have
// every value. Offsets count bytes of the whole.
package pages

import (
	"fmt"
	"unicode/utf8"

	"mcpgateway/services/fault"
)

// Limits of pages.
const (
	// DefaultLimit and MaxLimit are the default and the maximum of a page's limit,
	// in bytes.
	DefaultLimit = 16 << 10
	MaxLimit     = 64 << 10
	// MaxWhole is the maximum size of a scalar that a page contains whole even
	// above its limit, in bytes. Longer strings are read in pieces.
	MaxWhole = 64 << 10
	// MaxDepth and MaxName are the limits of JSON that is cut between values: the
	// nesting, and the length of a quoted name in bytes. Other JSON is text.
	MaxDepth = 64
	MaxName  = 1 << 10
)

// Page is a part of a value.
type Page struct {
	Text   string // valid JSON, or text
	Offset int    // where it begins
	Next   int    // offset of the next page; -1 after the last one
	// At is the JSON pointer (RFC 6901) of the first value in the page, and Piece
	// reports whether the page has a piece of that string. Empty for text.
	At    string
	Piece bool
	// Left are the arrays and objects with values after the page, the outermost
	// first.
	Left []Left
}

// Left is an array or object that a page doesn't show to its end.
type Left struct {
	Pointer string // RFC 6901; empty for the whole
	Array   bool
	Count   int // of elements or members after the page
	Total   int
}

// Text returns the page of text that begins at an offset and has at most limit
// bytes, but at least one character. It returns INVALID_PARAMETER for an offset
// inside a character or beyond the end.
func Text(raw []byte, offset, limit int) (Page, error) {
	switch {
	case offset < 0 || offset > len(raw):
		return Page{}, beyond(offset, len(raw))
	case offset == len(raw):
		return Page{Offset: offset, Next: -1}, nil
	case !utf8.RuneStart(raw[offset]):
		start, end := offset, offset
		for start > 0 && !utf8.RuneStart(raw[start]) {
			start--
		}
		for end < len(raw) && !utf8.RuneStart(raw[end]) {
			end++
		}
		return Page{}, fault.Invalid("Offset %d is inside a character. Use %d or %d.", offset, start, end)
	}
	end := cutText(raw, offset, limit)
	if end == offset {
		_, size := utf8.DecodeRune(raw[offset:])
		end += size
	}
	next := end
	if end == len(raw) {
		next = -1
	}
	return Page{Text: string(raw[offset:end]), Offset: offset, Next: next}, nil
}

// HeadOfText returns the first page of text, which can be empty if no character
// fits.
func HeadOfText(raw []byte, limit int) Page {
	end := cutText(raw, 0, limit)
	return Page{Text: string(raw[:end]), Next: end}
}

// cutText returns the end of the last character that ends at most limit bytes
// after the offset.
func cutText(raw []byte, offset, limit int) int {
	if limit >= len(raw)-offset {
		return len(raw)
	}
	end := offset + limit
	for end > offset && !utf8.RuneStart(raw[end]) {
		end--
	}
	return end
}

func beyond(offset, size int) error {
	return fault.Invalid("Offset %d is beyond the end: the result has %d bytes.", offset, size)
}

// Words describes what is left, such as "4,900 of 5,000 elements of /items".
func (l Left) Words() string {
	what := "members"
	if l.Array {
		what = "elements"
	}
	words := fmt.Sprintf("%d of %d %s", l.Count, l.Total, what)
	if l.Pointer != "" {
		words += " of " + l.Pointer
	}
	return words
}
