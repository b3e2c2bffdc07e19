package sources

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpgateway/services/egress"
)

// Clean returns a text from outside as it may be shown: without control
// characters and without what is invisible or turns the direction of writing,
// with single spaces, and at most so many characters long.
func Clean(s string, most int) string {
	var b strings.Builder
	space := false
	length := 0
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cc, r) {
			space = b.Len() > 0
			continue
		}
		if !showable(r) {
			continue
		}
		if space {
			b.WriteByte(' ')
			length++
			space = false
		}
		if length++; length > most {
			return strings.TrimSpace(Clip(b.String(), most-1)) + "…"
		}
		b.WriteRune(r)
	}
	return b.String()
}

// showable reports whether a character is seen as what it is. The joiners are
// invisible too, and some scripts and emoji need them.
func showable(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = 0x200C, 0x200D
	switch {
	case r == zeroWidthNonJoiner, r == zeroWidthJoiner:
		return true
	case r == utf8.RuneError, unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Cs, r):
		return false
	case r >= 0xE0000 && r <= 0xE0FFF: // tags and other invisible marks
		return false
	}
	return unicode.IsGraphic(r)
}

// Clip returns the first characters of s, at most n.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// cleanList cleans every text of a list and drops empty ones, repeated ones
// and what is beyond the bounds.
func cleanList(list []string, items, characters int) []string {
	out := make([]string, 0, min(len(list), items))
	for _, s := range list {
		s = Clean(s, characters)
		if s == "" || len(list) <= 1000 && slices.Contains(out, s) {
			continue
		}
		if len(out) == items {
			break
		}
		out = append(out, s)
	}
	return out
}

// CleanLink returns an http or https address as it may be linked to, or
// nothing.
func CleanLink(raw string) string {
	raw = strings.TrimSpace(raw)
	if raw == "" || len(raw) > maxURL || strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsSpace(r) || !showable(r) }) {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return ""
	}
	return raw
}

// CleanIcon returns the https address of an image, or nothing.
func CleanIcon(raw string) string {
	if link := CleanLink(raw); strings.HasPrefix(link, "https://") {
		return link
	}
	return ""
}

// cleanEndpoint returns an address that a client could connect to, or nothing.
// A template with {variables} is not one.
func cleanEndpoint(raw string) string {
	link := CleanLink(raw)
	if link == "" || strings.ContainsAny(link, "{}") || egress.CheckURL(link) != nil {
		return ""
	}
	return link
}

// ValidName reports whether s may be part of a server's name in the official
// registry (server.json, name): letters, digits, dots and dashes, and in the
// second part underscores.
func ValidName(s string, underscore bool) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_' && underscore:
		default:
			return false
		}
	}
	return strings.Trim(s, ".") != ""
}
