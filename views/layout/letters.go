package layout

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode"
)

// hues is the number of tile colors, the classes h0, h1 … of the stylesheet.
const hues = 12

// Hue returns the class of a name's color.
func Hue(name string) string {
	h := fnv.New32a()
	h.Write([]byte(strings.ToLower(name)))
	return "h" + strconv.Itoa(int(h.Sum32()%hues))
}

// Initials returns the first letters of the first two words of a name, or the
// first two letters of its only word.
func Initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch len(words) {
	case 0:
		return "?"
	case 1:
		letters := []rune(words[0])
		return strings.ToUpper(string(letters[0])) + string(letters[1:min(2, len(letters))])
	}
	return strings.ToUpper(string([]rune(words[0])[0]) + string([]rune(words[1])[0]))
}
