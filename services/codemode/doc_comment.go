package codemode

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// docTags are the keywords of a schema that a type cannot say but a comment
// can.
func docTags() [15]string {
	return [...]string{
		"format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "contentEncoding", "contentMediaType", "default",
	}
}

// propertyDoc returns what is known of a property beside its type: its
// description and tags. It is empty when there is nothing to tell.
func propertyDoc(n *schemaNode) string {
	if !n.is('{') {
		return ""
	}
	text := n.string("description")
	if text == "" {
		text = n.string("title")
	}
	parts := []string{cleanText(text, maxPropertyText)}
	if types := n.types(); len(types) > 0 && containsType(types, "integer") && !containsType(types, "number") {
		parts = append(parts, "@integer")
	}
	for _, name := range docTags() {
		value := n.get(name)
		if value == nil || value.is('f') && name != "default" {
			continue
		}
		parts = append(parts, strings.TrimSpace("@"+name+" "+oneLine(tagValue(value, 0), maxTagText)))
	}
	if n.get("deprecated").is('t') {
		parts = append(parts, "@deprecated")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func containsType(types []string, name string) bool {
	for _, t := range types {
		if t == name {
			return true
		}
	}
	return false
}

// tagValue returns a value in a form short enough for a comment.
func tagValue(n *schemaNode, depth int) string {
	if depth > 3 {
		return "…"
	}
	var b strings.Builder
	switch n.kind {
	case '"':
		if depth == 0 {
			return n.text
		}
		return quoteText(n.text)
	case '0':
		return n.text
	case 't':
		return "true"
	case 'f':
		return "false"
	case 'n':
		return "null"
	case '[':
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > maxTagText {
				break
			}
			b.WriteString(tagValue(item, depth+1))
		}
		return "[" + b.String() + "]"
	}
	for i, m := range n.members {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > maxTagText {
			break
		}
		b.WriteString(quoteText(m.name) + ": " + tagValue(m.value, depth+1))
	}
	return "{" + b.String() + "}"
}

// cleanText returns a text of an upstream as it can stand in a comment: in
// lines of visible letters, without an end of the comment, without
// instructions to the compiler, and no longer than limit bytes.
func cleanText(s string, limit int) string {
	cut := len(s) > 4*limit
	if cut {
		s = s[:4*limit] // what follows could not be shown in any case
	}
	s = strings.ToValidUTF8(s, "")
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteByte(' ')
		case unicode.Is(unicode.C, r):
		default:
			b.WriteRune(r)
		}
	}
	s = strings.TrimSpace(b.String())
	if cut || len(s) > limit {
		s = s[:min(len(s), limit)]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	s = strings.ReplaceAll(s, "*/", `*\/`)
	// The compiler obeys @ts-ignore and the like also in such comments.
	return strings.ReplaceAll(s, "@ts-", "@ ts-")
}

// oneLine returns the cleaned text with its lines joined.
func oneLine(s string, limit int) string {
	return strings.Join(strings.Fields(cleanText(s, limit)), " ")
}

// writeDoc appends the cleaned text as a comment in front of a line.
func writeDoc(b *strings.Builder, indent, text string) {
	if text == "" {
		return
	}
	if !strings.Contains(text, "\n") {
		b.WriteString(indent + "/** " + text + " */\n")
		return
	}
	b.WriteString(indent + "/**\n")
	blank := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" && blank {
			continue
		}
		blank = line == ""
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
}
