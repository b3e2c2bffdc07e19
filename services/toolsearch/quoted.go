package toolsearch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is the part of a text from byte begin to before byte end.
type span struct{ begin, end int }

// maxQuote is the maximum length of quoted text in bytes. A quote that isn't
// closed within it is a character like others.
const maxQuote = 200

// quotedSpans returns the parts of a task that name objects rather than
// actions, in order and without overlaps: text in quotes, paths, URLs, e-mail
// addresses and file names.
func quotedSpans(task string) []span {
	var spans []span
	for at := 0; at < len(task); {
		r, size := utf8.DecodeRuneInString(task[at:])
		if end := quoteEnd(task, at, r, size); end > 0 {
			spans = append(spans, span{at, end})
			at = end
			continue
		}
		if !isTokenRune(r) {
			at += size
			continue
		}
		end := tokenEnd(task, at)
		if token := strings.TrimRight(task[at:end], ".:!?"); isAddress(token) {
			spans = append(spans, span{at, at + len(token)})
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
		if before, _ := utf8.DecodeLastRuneInString(task[:at]); at > 0 && classify(before) != classOther {
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
	rest := clip(task[at+size:], maxQuote)
	for from := 0; ; {
		i := strings.Index(rest[from:], closing)
		if i < 0 {
			return 0
		}
		from += i + len(closing)
		after, _ := utf8.DecodeRuneInString(task[at+size+from:])
		if (r == '\'' || r == '‘') && classify(after) != classOther && classify(after) != classIdeograph {
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
	class := classify(r)
	return class != classOther && class != classIdeograph
}

func tokenEnd(task string, at int) int {
	for i, r := range task[at:] {
		if !isTokenRune(r) {
			return at + i
		}
	}
	return len(task)
}

// isAddress reports whether a token is a path, URL, e-mail address, domain or
// file name.
func isAddress(token string) bool {
	if i := strings.IndexByte(token, '@'); i > 0 && i < len(token)-1 || strings.Contains(token, "://") {
		return true
	}
	for _, prefix := range [...]string{"/", "~/", "./", "../"} {
		if strings.HasPrefix(token, prefix) && len(token) > len(prefix) {
			return true
		}
	}
	if strings.Count(token, "/") > 1 || strings.Contains(token, `:\`) {
		return true
	}
	dot := strings.LastIndexByte(token, '.')
	if dot <= 0 || strings.HasPrefix(token, ".") {
		return false
	}
	extension, letters := token[dot+1:], false
	if len(extension) < 2 || len(extension) > 5 {
		return false
	}
	for _, r := range extension {
		class := classify(r)
		if r >= utf8.RuneSelf || class == classOther {
			return false
		}
		letters = letters || unicode.IsLetter(r)
	}
	return letters && (strings.ToLower(extension) == extension || strings.ToUpper(extension) == extension)
}
