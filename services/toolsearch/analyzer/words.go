// Package analyzer splits the texts of tools and tasks into words: their stems,
// synonyms, and meanings in other languages, and the parts of a task that don't
// describe a tool.
package analyzer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// MaxWordBytes is the maximum length of a word in bytes. Longer ones are hashes
// or noise and are ignored.
const MaxWordBytes = 64

// foldText returns text normalized for splitting into words: compatibility
// characters replaced (NFKC) and accents of Latin, Greek and Cyrillic letters
// removed, so that "café" and "cafe" are one word. Case is preserved, because
// camelCase names are split by it.
func foldText(text string) string {
	ascii := true
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	bare := false // whether marks of the last base letter are dropped
	for _, r := range norm.NFKD.String(text) {
		if unicode.Is(unicode.Mn, r) {
			if bare {
				continue
			}
		} else {
			bare = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// RuneClass is the class of a character in words.
type RuneClass uint8

// The classes of characters.
const (
	ClassOther RuneClass = iota
	ClassLower           // including letters without case
	ClassUpper
	ClassDigit
	ClassIdeograph // scripts without spaces
)

// Classify returns the class of a character.
func Classify(r rune) RuneClass {
	if r < utf8.RuneSelf {
		switch {
		case 'a' <= r && r <= 'z':
			return ClassLower
		case 'A' <= r && r <= 'Z':
			return ClassUpper
		case '0' <= r && r <= '9':
			return ClassDigit
		}
		return ClassOther
	}
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai), r == 'ー':
		return ClassIdeograph
	case unicode.IsUpper(r):
		return ClassUpper
	case unicode.IsLetter(r), unicode.IsMark(r):
		return ClassLower
	case unicode.IsDigit(r):
		return ClassDigit
	}
	return ClassOther
}

// Words calls emit for every word of text in lower case: the parts of
// camelCase, digit and snake_case names, and then the whole run of letters and
// digits if it had parts. Scripts without spaces are split into characters and
// pairs of characters. It stops when emit returns false.
func Words(text string, emit func(word string, whole bool) bool) {
	SplitWords(text, emit, func(run string) bool { return Ideographs(run, emit) })
}

// SplitWords calls emit like Words, and scriptRun for every run of a script
// without spaces.
func SplitWords(text string, emit func(word string, whole bool) bool, scriptRun func(run string) bool) {
	text = foldText(text)
	for start := 0; start < len(text); {
		r, size := utf8.DecodeRuneInString(text[start:])
		switch Classify(r) {
		case ClassOther:
			start += size
			continue
		case ClassIdeograph:
			end := runEnd(text, start, true)
			if !scriptRun(text[start:end]) {
				return
			}
			start = end
		default:
			end := runEnd(text, start, false)
			if !splitRun(text[start:end], emit) {
				return
			}
			start = end
		}
	}
}

// runEnd returns the end of the run of word characters that starts at start.
func runEnd(text string, start int, ideograph bool) int {
	for i, r := range text[start:] {
		c := Classify(r)
		if c == ClassOther || (c == ClassIdeograph) != ideograph {
			return start + i
		}
	}
	return len(text)
}

// Ideographs calls emit for every character of a run of a script without spaces,
// and for every pair of neighbors, for which whole is true.
func Ideographs(run string, emit func(word string, whole bool) bool) bool {
	previous := -1
	for i, r := range run {
		size := utf8.RuneLen(r)
		if !emit(run[i:i+size], false) {
			return false
		}
		if previous >= 0 && !emit(run[previous:i+size], true) {
			return false
		}
		previous = i
	}
	return true
}

// splitRun emits the parts of a run of letters and digits. A part starts at a
// change from lower to upper case ("getUser"), before the last capital of
// several ("HTTPServer") and between letters and digits. "URLs" is not split.
func splitRun(run string, emit func(string, bool) bool) bool {
	begin, parts := 0, 0
	before, last := ClassOther, ClassOther
	lastAt := 0
	for i, r := range run {
		c := Classify(r)
		cut := -1
		switch {
		case i == 0:
		case last == ClassDigit != (c == ClassDigit):
			cut = i
		case last == ClassLower && c == ClassUpper:
			cut = i
		case before == ClassUpper && last == ClassUpper && c == ClassLower && !pluralEnd(run[i:]):
			cut = lastAt
		}
		if cut > begin {
			if !emit(strings.ToLower(run[begin:cut]), false) {
				return false
			}
			begin = cut
			parts++
		}
		before, last, lastAt = last, c, i
	}
	if !emit(strings.ToLower(run[begin:]), false) {
		return false
	}
	return parts == 0 || emit(strings.ToLower(run), true)
}

// pluralEnd reports whether rest is the s of a plural such as "URLs".
func pluralEnd(rest string) bool {
	if rest[0] != 's' {
		return false
	}
	if len(rest) == 1 {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest[1:])
	c := Classify(r)
	return c == ClassUpper || c == ClassDigit
}

// Stem returns the Porter2 stem of a lower-case word. Words in other alphabets
// are returned unchanged.
func Stem(word string) string {
	if len(word) <= 2 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return english.Stem(word, true)
}

// Clip truncates text to at most n bytes without splitting a character.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
