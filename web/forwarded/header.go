package forwarded

import "strings"

// forwardedNodes returns the "for" value of each element in a line of the
// Forwarded header (RFC 7239, section 4). It is empty for an element without
// one, or with two. A malformed line results in one empty value: text that the
// client wrote further left could make any part of it look like a proxy's.
func forwardedNodes(line string) []string {
	var nodes []string
	rest := line
	for {
		node, after, ok := forwardedElement(rest)
		if !ok {
			return []string{""}
		}
		nodes = append(nodes, node)
		if after == "" {
			return nodes
		}
		rest = after[1:]
	}
}

// forwardedElement parses one element. It returns its "for" value and the rest,
// which is empty or starts with a comma.
func forwardedElement(text string) (node, after string, ok bool) {
	seen := 0
	for {
		text = strings.TrimLeft(text, " \t")
		if text != "" && text[0] != ';' && text[0] != ',' {
			name, value, rest, ok := forwardedPair(text)
			if !ok {
				return "", "", false
			}
			if strings.EqualFold(name, "for") {
				node = value
				seen++
			}
			text = strings.TrimLeft(rest, " \t")
		}
		if text == "" || text[0] == ',' {
			break
		}
		if text[0] != ';' {
			return "", "", false
		}
		text = text[1:]
	}
	if seen != 1 {
		node = ""
	}
	return node, text, true
}

// forwardedPair parses token "=" ( token / quoted-string ).
func forwardedPair(text string) (name, value, rest string, ok bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return !isTokenRune(r) })
	if end <= 0 || text[end] != '=' {
		return "", "", "", false
	}
	name, text = text[:end], text[end+1:]
	if strings.HasPrefix(text, `"`) {
		value, rest, ok = quotedString(text[1:])
		return name, value, rest, ok
	}
	end = strings.IndexFunc(text, func(r rune) bool { return !isTokenRune(r) })
	if end < 0 {
		end = len(text)
	}
	return name, text[:end], text[end:], end > 0
}

// quotedString parses the rest of a quoted string (RFC 9110, section 5.6.4).
func quotedString(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

// isTokenRune reports whether the character is allowed in a token (RFC 9110,
// section 5.6.2).
func isTokenRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
