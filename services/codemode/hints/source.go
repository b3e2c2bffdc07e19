package hints

import (
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"mcpgateway/services/sandbox"
)

// source is submitted code. masked has the same length: comments and the
// contents of texts and regular expressions are blank.
type source struct {
	text, masked string
	starts       []int       // offset of each line
	pairs        map[int]int // offsets of brackets to those of their other halves
}

func newSource(text string) *source {
	s := &source{text: text, masked: mask(text), starts: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			s.starts = append(s.starts, i+1)
		}
	}
	s.pairs = pairBrackets(s.masked)
	return s
}

// offset returns the byte offset of a position, or -1.
func (s *source) offset(at sandbox.Position) int {
	if at.Line < 1 || at.Line > len(s.starts) {
		return -1
	}
	i := s.starts[at.Line-1]
	for column := 1; column < at.Column; {
		r, size := utf8.DecodeRuneInString(s.text[i:])
		if size == 0 {
			return -1
		}
		i += size
		column += max(1, utf16.RuneLen(r))
	}
	return i
}

// position returns the position of a byte offset.
func (s *source) position(offset int) sandbox.Position {
	at := sandbox.Position{Line: 1, Column: 1}
	for at.Line < len(s.starts) && s.starts[at.Line] <= offset {
		at.Line++
	}
	for _, r := range s.text[s.starts[at.Line-1]:offset] {
		at.Column += max(1, utf16.RuneLen(r))
	}
	return at
}

// line returns the masked line of an offset, without the text of others.
func (s *source) line(offset int) string {
	at := s.position(offset).Line
	end := len(s.masked)
	if at < len(s.starts) {
		end = s.starts[at]
	}
	return s.masked[s.starts[at-1]:end]
}

// mask returns code with blanks for comments and for the contents of texts and
// regular expressions. Expressions in templates stay.
func mask(code string) string {
	out := []byte(code)
	var templates []int // open braces inside each open template expression
	last := byte(0)     // last byte that is not blank
	blank := func(from, to int) {
		for i := from; i < min(to, len(out)); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	template := func(i int) int { // returns the offset after the next ` or ${
		from := i
		for i < len(code) {
			switch {
			case code[i] == '\\':
				i++
			case code[i] == '`':
				blank(from, i)
				return i + 1
			case strings.HasPrefix(code[i:], "${"):
				blank(from, i)
				templates = append(templates, 0)
				return i + 2
			}
			i++
		}
		blank(from, i)
		return i
	}
	for i := 0; i < len(code); {
		c := code[i]
		switch {
		case strings.HasPrefix(code[i:], "```"):
			end := lineEnd(code, i)
			blank(i, end)
			i = end
			continue
		case strings.HasPrefix(code[i:], "//"):
			end := lineEnd(code, i)
			blank(i, end)
			i = end
			continue
		case strings.HasPrefix(code[i:], "/*"):
			end := len(code)
			if n := strings.Index(code[i+2:], "*/"); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(i, end)
			i = end
			continue
		case c == '"' || c == '\'':
			end := quotedEnd(code, i+1, c)
			blank(i+1, end)
			i = end + 1
			last = c
			continue
		case c == '/' && startsRegexp(code[:i], last):
			end := regexpEnd(code, i+1)
			blank(i+1, end)
			i = end + 1
			last = c
			continue
		case c == '`':
			i = template(i + 1)
			last = '`'
			continue
		case c == '{' && len(templates) > 0:
			templates[len(templates)-1]++
		case c == '}' && len(templates) > 0:
			n := len(templates) - 1
			if templates[n]--; templates[n] < 0 {
				templates = templates[:n]
				i = template(i + 1)
				last = '`'
				continue
			}
		}
		if c > ' ' {
			last = c
		}
		i++
	}
	return string(out)
}

func lineEnd(code string, from int) int {
	if n := strings.IndexByte(code[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(code)
}

// quotedEnd returns the offset of the closing quote, or of the end of the line.
func quotedEnd(code string, i int, quote byte) int {
	for ; i < len(code) && code[i] != quote && code[i] != '\n'; i++ {
		if code[i] == '\\' {
			i++
		}
	}
	return min(i, len(code))
}

func regexpEnd(code string, i int) int {
	class := false
	for ; i < len(code) && code[i] != '\n' && (class || code[i] != '/'); i++ {
		switch code[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		}
	}
	return min(i, len(code))
}

var operatorWord = regexp.MustCompile(`\b(?:return|typeof|case|in|of|do|else|void|delete|await|yield)\s*$`)

// startsRegexp reports whether a slash after before, whose last byte is last,
// starts a regular expression and is not a division.
func startsRegexp(before string, last byte) bool {
	if last == 0 || strings.IndexByte("(,=:[!&|?{};+-*%<>~^", last) >= 0 {
		return true
	}
	return isWord(last) && operatorWord.MatchString(before[max(0, len(before)-20):])
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// chainStart returns the offset of the expression that ends with the name or
// bracket at offset: that of a in a.b["c"].d for d.
func (s *source) chainStart(at int) int {
	at = s.wordStart(at)
	for range maxMatches {
		i := s.skipBack(at)
		switch {
		case i > 0 && s.masked[i-1] == '.':
			if i--; i > 0 && s.masked[i-1] == '?' {
				i--
			}
		case at < len(s.masked) && (s.masked[at] == '[' || s.masked[at] == '(') && i > 0 && (isWord(s.masked[i-1]) || s.masked[i-1] == ']' || s.masked[i-1] == ')'):
			if word := s.word(s.wordStart(i - 1)); keywords[word] {
				return at
			}
		default:
			return at
		}
		i = s.skipBack(i)
		if i == 0 {
			return at
		}
		switch c := s.masked[i-1]; {
		case isWord(c):
			at = s.wordStart(i - 1)
		case c == ']' || c == ')':
			open := s.open(i - 1)
			if open < 0 {
				return at
			}
			at = open
		default:
			return at
		}
	}
	return at
}

var keywords = map[string]bool{
	"await": true, "return": true, "in": true, "of": true, "typeof": true, "case": true, "new": true, "yield": true, "if": true, "while": true, "for": true,
	"switch": true, "catch": true, "else": true, "do": true, "void": true, "delete": true, "throw": true,
}

// word returns the name at an offset, or "".
func (s *source) word(at int) string {
	end := at
	for end < len(s.masked) && isWord(s.masked[end]) {
		end++
	}
	return s.masked[at:end]
}

func (s *source) wordStart(at int) int {
	for at > 0 && at < len(s.masked) && isWord(s.masked[at]) && isWord(s.masked[at-1]) {
		at--
	}
	return at
}

// skipBack returns the offset after the last byte before at that is not blank.
func (s *source) skipBack(at int) int { return len(strings.TrimRight(s.masked[:at], " \t\r\n")) }

// open returns the offset of the bracket that the one at an offset closes, or
// -1.
func (s *source) open(at int) int { return s.pair(at, -1) }

// close returns the offset of the bracket that closes the one at an offset, or
// the end of the code.
func (s *source) close(at int) int { return s.pair(at, len(s.masked)) }

func (s *source) pair(at, none int) int {
	if other, found := s.pairs[at]; found {
		return other
	}
	return none
}

// enclosing returns the offset of the bracket around an offset, or -1.
func (s *source) enclosing(at int) int {
	for at--; at >= 0; at-- {
		switch s.masked[at] {
		case ')', ']', '}':
			if at = s.open(at); at < 0 {
				return -1
			}
		case '(', '[', '{':
			return at
		}
	}
	return -1
}

// pairBrackets returns the offset of the other bracket of each pair.
func pairBrackets(masked string) map[int]int {
	pairs := map[int]int{}
	var open []int
	for i := range len(masked) {
		switch masked[i] {
		case '(', '[', '{':
			open = append(open, i)
		case ')', ']', '}':
			if n := len(open) - 1; n >= 0 {
				pairs[i], pairs[open[n]] = open[n], i
				open = open[:n]
			}
		}
	}
	return pairs
}

var (
	awaited       = regexp.MustCompile(`(?:\(?\s*\bawait\s*|\(\s*)$`)
	assigned      = regexp.MustCompile(`([A-Za-z_$][\w$]*)\s*(?::[^=;{}()]*)?=$`)
	inAll         = regexp.MustCompile(`\bPromise\s*\.\s*all\s*\(\s*$`)
	namesUnpacked = regexp.MustCompile(`\{([^{}]*)\}\s*=$`)
	namesOfAll    = regexp.MustCompile(`\[([^\[\]{}]*)\]\s*=\s*$`)
)

// boundTo returns the variable that gets the value of the call at an offset:
// directly, or from Promise.all of a list.
func (s *source) boundTo(begin int) string {
	if begin < 0 {
		return ""
	}
	before := s.unawait(s.before(begin))
	if found := assigned.FindStringSubmatch(before); found != nil && !strings.HasSuffix(before, "==") {
		return found[1]
	}
	list := s.enclosing(begin)
	if list < 0 || s.masked[list] != '[' {
		return ""
	}
	before = s.before(list)
	all := inAll.FindStringIndex(before)
	if all == nil {
		return ""
	}
	found := namesOfAll.FindStringSubmatch(s.unawait(before[:all[0]]))
	names := []string{}
	if found != nil {
		names = strings.Split(found[1], ",")
	}
	index := 0
	for i := list + 1; i < begin; i++ {
		switch s.masked[i] {
		case '(', '[', '{':
			i = s.close(i)
		case ',':
			index++
		}
	}
	if index >= len(names) {
		return ""
	}
	return strings.TrimSpace(names[index])
}

// unpacked returns the variables that get members of the value of the call at
// an offset: const { a, b: c } = await call.
func (s *source) unpacked(begin int) []string {
	if begin < 0 {
		return nil
	}
	found := namesUnpacked.FindStringSubmatch(s.unawait(s.before(begin)))
	if found == nil {
		return nil
	}
	var names []string
	for part := range strings.SplitSeq(found[1], ",") {
		part, _, _ = strings.Cut(part, "=")
		if _, renamed, has := strings.Cut(part, ":"); has {
			part = renamed
		}
		if part = strings.TrimSpace(part); part != "" {
			names = append(names, part)
		}
	}
	return names
}

// maxStatement is the maximum length of the code before a call that is searched
// for the variable that gets its value, in bytes.
const maxStatement = 400

// before returns the end of the masked code before an offset.
func (s *source) before(at int) string { return s.masked[max(0, at-maxStatement):at] }

// unawait returns code without await and open parentheses at its end.
func (s *source) unawait(before string) string {
	for {
		before = strings.TrimRight(before, " \t\r\n")
		at := awaited.FindStringIndex(before)
		if at == nil {
			return before
		}
		before = before[:at[0]]
	}
}

// isBare reports whether the code uses a name other than as the object of a
// member or call, such as in a declaration. Then it may be the code's own.
func (s *source) isBare(name string) bool {
	for _, at := range s.uses(name) {
		rest := strings.TrimLeft(s.masked[at+len(name):], " \t\r\n")
		if rest == "" || strings.IndexByte(".[(?", rest[0]) < 0 || strings.HasSuffix(strings.TrimRight(s.masked[:at], " \t\r\n"), "function") {
			return true
		}
	}
	return false
}

// uses returns the offsets of a name, without members of that name.
func (s *source) uses(name string) []int {
	var all []int
	for from := 0; name != ""; {
		n := strings.Index(s.masked[from:], name)
		if n < 0 {
			break
		}
		at := from + n
		from = at + len(name)
		before := strings.TrimRight(s.masked[:at], " \t\r\n")
		if at > 0 && isWord(s.masked[at-1]) || from < len(s.masked) && isWord(s.masked[from]) || strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "...") {
			continue
		}
		all = append(all, at)
	}
	return all
}
