package query

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns s in the form used for comparisons: NFKC with full Unicode case
// folding, so that case and width are ignored. Fold is idempotent.
func Fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return foldUnicode(s)
		}
	}
	return foldASCII(s)
}

// foldASCII is Fold for ASCII, the common case. It copies only texts with
// capitals.
func foldASCII(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// foldUnicode normalizes again after folding, which can decompose letters or
// leave marks out of order. Each call creates a Caser, because a Caser must not
// be shared between goroutines.
func foldUnicode(s string) string {
	s = strings.Map(capitalCherokee, norm.NFKC.String(s))
	return norm.NFKC.String(cases.Fold().String(s))
}

// capitalCherokee returns the capital of a small Cherokee letter. Unicode folds
// this script to capitals; the Caser swaps small and capital letters instead,
// so without this step they would never be equal.
func capitalCherokee(r rune) rune {
	switch {
	case 0xAB70 <= r && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case 0x13F8 <= r && r <= 0x13FD:
		return r - 0x13F8 + 0x13F0
	}
	return r
}
