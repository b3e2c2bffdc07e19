package query

import (
	"unicode/utf8"

	"mcpgateway/services/fault"
)

// Bounds of a query (contract, "Catalog query grammar").
const (
	MaxCodePoints = 2048
	MaxBytes      = 8192
	MaxClauses    = 32
)

// checkText returns a QUERY_TOO_LONG or INVALID_UTF8 fault for an input that
// is not worth reading. They have no span: the first is about the whole query,
// and bytes that are no text have no code points. The bytes are checked first,
// so that whatever is sent, no more than MaxBytes of it are looked at.
func checkText(input string) error {
	if len(input) > MaxBytes {
		return fault.New(fault.KindInvalid, fault.CodeQueryTooLong, "the query has %d bytes, and at most %d are read; shorten it", len(input), MaxBytes)
	}
	points := 0
	for i, r := range input {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(input[i:]); size == 1 {
				return fault.New(fault.KindInvalid, fault.CodeInvalidUTF8, "the query is not valid UTF-8 from byte %d on; encode it as UTF-8", i)
			}
		}
		points++
	}
	if points > MaxCodePoints {
		return fault.New(fault.KindInvalid, fault.CodeQueryTooLong, "the query has %d characters, and at most %d are read; shorten it", points, MaxCodePoints)
	}
	return nil
}
