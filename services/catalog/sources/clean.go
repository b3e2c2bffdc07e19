package sources

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpgateway/services/egress"
)

// Clean returns an external text in a form that is safe to display: without
// control characters, invisible characters and those that change the text
// direction, with single spaces, truncated to most characters.
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

// showable reports whether a character is safe to display. Joiners are
// invisible, but some scripts and emoji require them.
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

// Clip truncates s to at most n characters.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// cleanList cleans every string of a list and drops empty and repeated ones,
// and those beyond the limits.
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

// CleanLink returns an http or https URL that is safe to link to, or "".
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

// CleanIcon returns the https URL of an image, or "".
func CleanIcon(raw string) string {
	if link := CleanLink(raw); strings.HasPrefix(link, "https://") {
		return link
	}
	return ""
}

// cleanEndpoint returns a URL that a client could connect to, or "". A template
// with {variables} isn't one.
func cleanEndpoint(raw string) string {
	link := CleanLink(raw)
	if link == "" || strings.ContainsAny(link, "{}") || egress.CheckURL(link) != nil {
		return ""
	}
	return link
}

// ValidName reports whether s is valid as part of a server's name in the
// official registry (server.json, name): letters, digits, dots and dashes, and
// in the second part underscores.
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
