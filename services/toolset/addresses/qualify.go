// Package addresses decides which server of a project a URI belongs to, and how
// the URIs of several servers are shown without ambiguity. The first server to
// show a URI claims it. An overlapping URI of another server is shown qualified,
// with the alias of its server, such as ui://+crm/w/v.html.
package addresses

import (
	"strings"
)

// Parts of a qualified address: scheme, "://+", alias and one of the marks,
// followed by the part of the URI that the mark stands for.
const (
	begin       = "://"
	plus        = "+"
	encodedPlus = "%2B"
	withHost    = "/"  // for "://" and a host
	withoutHost = "+"  // for "://" and an empty host
	opaque      = "~/" // for ":" only
)

// Fold returns an alias in the form of addresses: URI parsers lower the case of
// hosts.
func Fold(alias string) string { return strings.ToLower(alias) }

// Qualify returns the address of a server's URI or URI template with its alias.
// ok is false for a text without a scheme, such as a template that begins with
// an expression.
func Qualify(alias, text string) (address string, ok bool) {
	scheme, rest, ok := cutScheme(text)
	if !ok {
		return "", false
	}
	mark := opaque
	if after, found := strings.CutPrefix(rest, begin[1:]); found {
		rest, mark = after, withHost
		if rest == "" || strings.ContainsRune("/?#", rune(rest[0])) {
			mark = withoutHost
		}
	}
	return scheme + begin + plus + Fold(alias) + mark + rest, true
}

// Decode returns the alias, in lower case, and the server's own URI of a
// qualified address. A plus sign of the address can be percent-encoded. ok is
// false for any other text.
func Decode(address string) (alias, text string, ok bool) {
	scheme, rest, ok := cutScheme(address)
	if !ok {
		return "", "", false
	}
	if rest, ok = strings.CutPrefix(rest, begin[1:]); !ok {
		return "", "", false
	}
	if rest, ok = cutPlus(rest); !ok {
		return "", "", false
	}
	n := 0
	for n < len(rest) && isAliasByte(rest[n]) {
		n++
	}
	alias, rest = Fold(rest[:n]), rest[n:]
	if alias == "" {
		return "", "", false
	}
	if after, found := strings.CutPrefix(rest, withHost); found {
		return alias, scheme + begin + after, true
	}
	if after, found := strings.CutPrefix(rest, opaque); found {
		return alias, scheme + ":" + after, true
	}
	if after, found := cutPlus(rest); found {
		return alias, scheme + begin + after, true
	}
	return "", "", false
}

// cutScheme returns the scheme of a URI and what follows its colon (RFC 3986,
// section 3.1).
func cutScheme(text string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(text, ":")
	if !ok || scheme == "" || !isLetter(scheme[0]) {
		return "", "", false
	}
	for i := range len(scheme) {
		if c := scheme[i]; !isLetter(c) && !isDigit(c) && c != '+' && c != '-' && c != '.' {
			return "", "", false
		}
	}
	return scheme, rest, true
}

func cutPlus(s string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(s, plus); ok {
		return rest, true
	}
	if len(s) >= len(encodedPlus) && strings.EqualFold(s[:len(encodedPlus)], encodedPlus) {
		return s[len(encodedPlus):], true
	}
	return "", false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isAliasByte reports whether aliases of servers can contain c.
func isAliasByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '-'
}

// isLink reports whether clients fetch a URI themselves.
func isLink(uri string) bool {
	scheme, _, _ := cutScheme(uri)
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}
