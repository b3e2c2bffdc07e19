package query

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns s in the form in which texts are compared: NFKC with the full
// case folding of Unicode, so that letters of any width and case match. What
// is folded stays as it is when folded again.
func Fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return foldUnicode(s)
		}
	}
	return foldASCII(s)
}

// foldASCII does the same for ASCII, which most queries are, and copies only
// what has capitals.
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

// foldUnicode normalises again behind the folding, which can take letters
// apart or leave marks out of order. A Caser is made each time, because it
// must not be shared between goroutines.
func foldUnicode(s string) string {
	s = strings.Map(capitalCherokee, norm.NFKC.String(s))
	return norm.NFKC.String(cases.Fold().String(s))
}

// capitalCherokee returns the capital of a small Cherokee letter. That is how
// Unicode folds this script alone; the caser exchanges its small and capital
// letters instead, and without a step in between they would never be equal.
func capitalCherokee(r rune) rune {
	switch {
	case 0xAB70 <= r && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case 0x13F8 <= r && r <= 0x13FD:
		return r - 0x13F8 + 0x13F0
	}
	return r
}
