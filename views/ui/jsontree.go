package ui

import (
	"slices"
	"strconv"
	"strings"
)

// truncatedNode is the last branch of a truncated tree.
const truncatedNode = "More is omitted here"

// ValueNodes returns a JSON value, such as the result of a tool, as the
// branches of a Tree: names, values in the order they came in, and how many
// items an array has. It returns nil for text that is not JSON, is nested deeper
// than 32 levels or larger than 1 MiB. Values after the first 2,000 are omitted.
func ValueNodes(raw []byte) []Node {
	v, err := readJSON(raw)
	if err != nil {
		return nil
	}
	if v.kind != "object" && v.kind != "array" {
		return []Node{valueNode("", v, 0)}
	}
	return valueChildren(v, 0)
}

func valueNode(name string, v jsonValue, level int) Node {
	n := Node{Name: name, Open: level < 2}
	switch v.kind {
	case "object":
		n.Type = Plural(len(v.members), "member", "members")
	case "array":
		n.Type = Plural(len(v.items), "item", "items")
	default:
		n.Value = v.inline()
		return n
	}
	n.Children = valueChildren(v, level+1)
	return n
}

func valueChildren(v jsonValue, level int) []Node {
	var list []Node
	for _, m := range v.members {
		list = append(list, valueNode(m.name, m.value, level))
	}
	for i, item := range v.items {
		list = append(list, valueNode(strconv.Itoa(i), item, level))
	}
	if v.cut {
		list = append(list, Node{Type: truncatedNode})
	}
	return list
}

// SchemaNodes returns the properties of a JSON schema as the branches of a
// Tree: type, limits, choices and default, nested where a property has
// properties. It returns nil for text that is not a JSON object, is nested deeper
// than 32 levels or larger than 1 MiB.
func SchemaNodes(raw []byte) []Node {
	v, err := readJSON(raw)
	if err != nil || v.kind != "object" {
		return nil
	}
	return schemaChildren(v, 0)
}

// schemaChildren returns the properties of a schema, of its array items and of its
// alternatives.
func schemaChildren(v jsonValue, level int) []Node {
	var list []Node
	if properties, ok := v.get("properties"); ok {
		required := names(v, "required")
		for _, m := range properties.members {
			n := schemaNode(m.name, m.value, level)
			n.Required = slices.Contains(required, m.name)
			list = append(list, n)
		}
		if properties.cut {
			list = append(list, Node{Type: truncatedNode})
		}
	}
	if items, ok := v.get("items"); ok && items.kind == "object" {
		list = append(list, schemaChildren(items, level)...)
	}
	for _, choice := range []string{"anyOf", "oneOf", "allOf"} {
		alternatives, _ := v.get(choice)
		for i, a := range alternatives.items {
			if children := schemaChildren(a, level+1); len(children) > 0 {
				list = append(list, Node{Name: choice + " " + strconv.Itoa(i+1), Type: schemaType(a), Text: a.str("description"), Children: children})
			}
		}
	}
	return list
}

func schemaNode(name string, v jsonValue, level int) Node {
	return Node{
		Name: name, Type: schemaType(v), Text: or(v.str("description"), v.str("title")), Note: schemaNote(v),
		Open: level < 1, Children: schemaChildren(v, level+1),
	}
}

// schemaType returns the type of a schema in words.
func schemaType(v jsonValue) string {
	t, _ := v.get("type")
	words := t.text
	if t.kind == "array" {
		words = strings.Join(names(v, "type"), " or ")
	}
	items, hasItems := v.get("items")
	switch {
	case words == "array" && hasItems && schemaType(items) != "":
		return "array of " + schemaType(items)
	case words != "":
		return words
	case v.str("$ref") != "":
		return v.str("$ref")
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		alternatives, _ := v.get(choice)
		var types []string
		for _, a := range alternatives.items {
			if t := schemaType(a); t != "" && !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
		if len(types) > 0 {
			return strings.Join(types, " or ")
		}
	}
	return ""
}

// shownLimits are the keywords whose values are shown after the type, with
// their labels.
func shownLimits() [][2]string {
	return [][2]string{
		{"const", "always "}, {"default", "default "}, {"format", ""}, {"pattern", "pattern "},
		{"minimum", "from "}, {"exclusiveMinimum", "above "}, {"maximum", "to "}, {"exclusiveMaximum", "below "}, {"multipleOf", "steps of "},
		{"minLength", "min length "}, {"maxLength", "max length "}, {"minItems", "min items "}, {"maxItems", "max items "},
	}
}

// schemaNote returns choices, default and limits of a schema.
func schemaNote(v jsonValue) string {
	var parts []string
	if enum, ok := v.get("enum"); ok {
		var choices []string
		for _, c := range enum.items {
			choices = append(choices, c.inline())
		}
		parts = append(parts, "one of "+strings.Join(choices, ", "))
	}
	for _, limit := range shownLimits() {
		if value, ok := v.get(limit[0]); ok {
			words := value.inline()
			if limit[0] == "format" || limit[0] == "pattern" {
				words = value.text
			}
			parts = append(parts, limit[1]+words)
		}
	}
	return strings.Join(parts, " · ")
}

// names returns the strings of the array called name.
func names(v jsonValue, name string) []string {
	list, _ := v.get(name)
	var texts []string
	for _, item := range list.items {
		if item.kind == "string" {
			texts = append(texts, item.text)
		}
	}
	return texts
}
