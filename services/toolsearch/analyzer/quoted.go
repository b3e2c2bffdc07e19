package analyzer

import (
	"strings"
	"unicode/utf8"
)

// Span is the part of a text from byte begin to before byte end.
type Span struct{ Begin, End int }

// maxQuote is the maximum length of quoted text in bytes. A quote that isn't
// closed within it is a character like others.
const maxQuote = 200

// QuotedSpans returns the parts of a task that name objects rather than
// actions, in order and without overlaps: text in quotes, paths, URLs, e-mail
// addresses and file names.
func QuotedSpans(task string) []Span {
	var spans []Span
	for at := 0; at < len(task); {
		r, size := utf8.DecodeRuneInString(task[at:])
		if end := quoteEnd(task, at, r, size); end > 0 {
			spans = append(spans, Span{at, end})
			at = end
			continue
		}
		if !isTokenRune(r) {
			at += size
			continue
		}
		end := tokenEnd(task, at)
		if n := addressLength(strings.TrimRight(task[at:end], ".:!?")); n > 0 {
			spans = append(spans, Span{at, at + n})
		}
		at = end
	}
	return spans
}

// quoteEnd returns the end of the quoted text that starts with r at at, or 0.
// An apostrophe opens a quote only at the start of a word and closes it only at
// the end of one.
func quoteEnd(task string, at int, r rune, size int) int {
	var closing string
	switch r {
	case '"', '`':
		closing = string(r)
	case '\'':
		closing = "'"
		if before, _ := utf8.DecodeLastRuneInString(task[:at]); at > 0 && Classify(before) != ClassOther {
			return 0
		}
	case '“':
		closing = "”"
	case '‘':
		closing = "’"
	case '«':
		closing = "»"
	case '„':
		closing = "“"
	case '「':
		closing = "」"
	case '『':
		closing = "』"
	case '《':
		closing = "》"
	default:
		return 0
	}
	rest := Clip(task[at+size:], maxQuote)
	for from := 0; ; {
		i := strings.Index(rest[from:], closing)
		if i < 0 {
			return 0
		}
		from += i + len(closing)
		after, _ := utf8.DecodeRuneInString(task[at+size+from:])
		if (r == '\'' || r == '‘') && Classify(after) != ClassOther && Classify(after) != ClassIdeograph {
			continue
		}
		return at + size + from
	}
}

// isTokenRune reports whether r can be part of a path or an address.
func isTokenRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && !strings.ContainsRune("\"'`<>()[]{},;", r)
	}
	class := Classify(r)
	return class != ClassOther && class != ClassIdeograph
}

func tokenEnd(task string, at int) int {
	for i, r := range task[at:] {
		if !isTokenRune(r) {
			return at + i
		}
	}
	return len(task)
}

// addressLength returns the length of a token that is a path, URL, e-mail
// address, domain or file name, and 0 for another token. The extension of a
// file is not included: it describes the tool rather than the file.
func addressLength(token string) int {
	if i := strings.IndexByte(token, '@'); i > 0 && i < len(token)-1 || strings.Contains(token, "://") {
		return len(token)
	}
	if dot := strings.LastIndexByte(token, '.'); dot > 0 && isExtension(token[dot+1:]) {
		return dot
	}
	for _, prefix := range [...]string{"/", "~/", "./", "../"} {
		if strings.HasPrefix(token, prefix) && len(token) > len(prefix) {
			return len(token)
		}
	}
	if strings.Count(token, "/") > 1 || strings.Contains(token, `:\`) {
		return len(token)
	}
	return 0
}

// isExtension reports whether text can be the extension of a file: 2 to 5
// ASCII letters and digits with a letter, in one case.
func isExtension(text string) bool {
	letters := false
	for _, r := range text {
		class := Classify(r)
		if r >= utf8.RuneSelf || class == ClassOther {
			return false
		}
		letters = letters || class != ClassDigit
	}
	return letters && len(text) >= 2 && len(text) <= 5 && (strings.ToLower(text) == text || strings.ToUpper(text) == text)
}
