package query

import (
	"unicode/utf8"

	"mcpgateway/services/fault"
)

// Limits of a query (contract, "Catalog query grammar").
const (
	MaxCodePoints = 2048
	MaxBytes      = 8192
	MaxClauses    = 32
)

// checkText returns QUERY_TOO_LONG or INVALID_UTF8 for invalid input, without a
// span: the first concerns the whole query, and invalid UTF-8 has no code
// points. The length in bytes is checked first, so that at most MaxBytes are
// read.
func checkText(input string) error {
	if len(input) > MaxBytes {
		return fault.New(fault.KindInvalid, fault.CodeQueryTooLong, "The query has %d bytes; the maximum is %d. Shorten it.", len(input), MaxBytes)
	}
	points := 0
	for i, r := range input {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(input[i:]); size == 1 {
				return fault.New(fault.KindInvalid, fault.CodeInvalidUTF8, "The query is not valid UTF-8 at byte %d.", i)
			}
		}
		points++
	}
	if points > MaxCodePoints {
		return fault.New(fault.KindInvalid, fault.CodeQueryTooLong, "The query has %d characters; the maximum is %d. Shorten it.", points, MaxCodePoints)
	}
	return nil
}
