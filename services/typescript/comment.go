package typescript

import (
	"slices"
	"strings"

	"mcpgateway/services/schema"
)

// docTags are the schema keywords that only a comment can express.
func docTags() [15]string {
	return [...]string{
		"format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "contentEncoding", "contentMediaType", "default",
	}
}

// propertyDoc returns the documentation of a property: its description and
// tags. It is empty if there is neither.
func propertyDoc(n *schema.Node) string {
	if !n.Is('{') {
		return ""
	}
	text := n.StringOf("description")
	if text == "" {
		text = n.StringOf("title")
	}
	parts := []string{schema.CleanText(text, maxPropertyText)}
	if types := n.Types(); len(types) > 0 && slices.Contains(types, "integer") && !slices.Contains(types, "number") {
		parts = append(parts, "@integer")
	}
	for _, name := range docTags() {
		value := n.Get(name)
		if value == nil || value.Is('f') && name != "default" {
			continue
		}
		parts = append(parts, strings.TrimSpace("@"+name+" "+schema.OneLine(schema.ShortValue(value, 0), schema.MaxTagText)))
	}
	if n.Get("deprecated").Is('t') {
		parts = append(parts, "@deprecated")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// writeDoc appends the cleaned text as a comment before a declaration.
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
