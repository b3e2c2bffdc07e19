package codemode

import (
	"strings"
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
		parts = append(parts, strings.TrimSpace("@"+name+" "+oneLine(tagValue(value, 0), MaxTagText)))
	}
	if n.get("deprecated").is('t') {
		parts = append(parts, "@deprecated")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
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
