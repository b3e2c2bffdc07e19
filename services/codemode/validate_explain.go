package codemode

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/nearest"
)

// explainMismatch says in one sentence what is wrong with arguments that a
// schema does not accept: where, and what would be right there.
func explainMismatch(doc *schemaDocument, value *schemaNode) string {
	e := &explainer{doc: doc, left: maxCheckSteps}
	if text := e.explain(doc.root, value, "", 0); text != "" {
		return text
	}
	return "the arguments do not fit the tool's inputSchema"
}

// explainer looks for the first thing that is wrong. It knows fewer keywords
// than the check itself.
type explainer struct {
	doc  *schemaDocument
	left int
}

// explain returns what is wrong with a value at a path, or an empty text when
// it sees nothing.
func (e *explainer) explain(n, value *schemaNode, path string, depth int) string {
	if e.left--; e.left < 0 || depth > MaxNesting {
		return ""
	}
	if n.is('f') {
		return at(path, "nothing is allowed here")
	}
	if !n.is('{') {
		return ""
	}
	if ref := n.string("$ref"); ref != "" {
		if target, _ := e.doc.resolve(ref); target != nil {
			if text := e.explain(target, value, path, depth+1); text != "" {
				return text
			}
		}
		if e.doc.oldRefs {
			return ""
		}
	}
	if text := e.ownKeywords(n, value, path); text != "" {
		return text
	}
	for _, part := range n.list("allOf") {
		if text := e.explain(part, value, path, depth+1); text != "" {
			return text
		}
	}
	var text string
	switch value.kind {
	case '{':
		text = e.members(n, value, path, depth)
	case '[':
		text = e.items(n, value, path, depth)
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		if text == "" {
			text = e.alternatives(n.list(keyword), value, path, depth)
		}
	}
	return text
}

// ownKeywords judges the keywords about the value as a whole.
func (e *explainer) ownKeywords(n, value *schemaNode, path string) string {
	types := n.types()
	if len(types) > 0 && !(value.is('n') && n.get("nullable").is('t')) {
		whole := value.is('0') && !isWhole(value) && !slices.Contains(types, "number")
		if !admits(types, value) || whole {
			return at(path, "must be "+joinOr(types)+", not "+kindOf(value))
		}
	}
	if values, ok := literalsOf(n); ok && !slices.ContainsFunc(values, func(v *schemaNode) bool { return sameValue(v, value, 0) }) {
		return at(path, "must be "+e.listValues(values, value))
	}
	switch {
	case value.is('0'):
		f := value.float()
		if least := n.number("minimum"); least != nil && f < *least {
			return at(path, "must be at least "+formatNumber(*least))
		}
		if most := n.number("maximum"); most != nil && f > *most {
			return at(path, "must be at most "+formatNumber(*most))
		}
	case value.is('"'):
		length := utf8.RuneCountInString(value.text)
		if least, ok := n.count("minLength"); ok && length < least {
			return at(path, fmt.Sprintf("must have at least %d characters", least))
		}
		if most, ok := n.count("maxLength"); ok && length > most {
			return at(path, fmt.Sprintf("must have at most %d characters", most))
		}
		if pattern := n.string("pattern"); isPortable(pattern) {
			if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(value.text) {
				return at(path, "must match the pattern "+oneLine(pattern, MaxTagText))
			}
		}
	}
	return ""
}

func (e *explainer) members(n, value *schemaNode, path string, depth int) string {
	properties := n.object("properties")
	var missing, unknown []string
	for _, name := range n.strings("required") {
		if value.get(name) == nil {
			missing = append(missing, name)
		}
	}
	closed := n.get("additionalProperties").is('f') && len(n.object("patternProperties").all()) == 0
	for _, m := range value.members {
		if properties.get(m.name) == nil {
			unknown = append(unknown, m.name)
		}
	}
	if len(unknown) > 0 && (closed || len(missing) > 0) {
		free := make([]string, 0, len(properties.all()))
		for _, p := range properties.all() {
			if value.get(p.name) == nil {
				free = append(free, p.name)
			}
		}
		for _, name := range unknown {
			if near := nearest.Name(name, free); near != "" {
				return at(path, fmt.Sprintf("unknown %s, did you mean %s?", shown(name), shown(near)))
			}
		}
		if closed {
			names := make([]string, 0, maxShownNames)
			for _, p := range properties.all()[:min(len(properties.all()), maxShownNames)] {
				names = append(names, shown(p.name))
			}
			known := "; it takes none"
			if len(names) > 0 {
				known = "; known are " + strings.Join(names, ", ")
				if len(properties.all()) > maxShownNames {
					known += ", …"
				}
			}
			return at(path, "unknown "+shown(unknown[0])+known)
		}
	}
	if len(missing) > 0 {
		return at(path, shown(missing[0])+" is missing")
	}
	for _, m := range value.members {
		part := properties.get(m.name)
		if part == nil {
			part = n.get("additionalProperties")
		}
		if part == nil {
			continue
		}
		if text := e.explain(part, m.value, pathTo(path, m.name), depth+1); text != "" {
			return text
		}
	}
	return ""
}

func (e *explainer) items(n, value *schemaNode, path string, depth int) string {
	if least, ok := n.count("minItems"); ok && len(value.items) < least {
		return at(path, fmt.Sprintf("must have at least %d elements", least))
	}
	if most, ok := n.count("maxItems"); ok && len(value.items) > most {
		return at(path, fmt.Sprintf("must have at most %d elements", most))
	}
	first, items := n.list("prefixItems"), n.get("items")
	if items.is('[') {
		first, items = items.items, n.get("additionalItems")
	}
	for i, item := range value.items {
		part := items
		if i < len(first) {
			part = first[i]
		}
		if part == nil {
			continue
		}
		if text := e.explain(part, item, path+"["+strconv.Itoa(i)+"]", depth+1); text != "" {
			return text
		}
	}
	return ""
}

// alternatives returns what is wrong when no branch fits: about the one branch
// that is of the value's type, or about all.
func (e *explainer) alternatives(branches []*schemaNode, value *schemaNode, path string, depth int) string {
	if len(branches) == 0 {
		return ""
	}
	near := ""
	candidates := 0
	for _, branch := range branches {
		text := e.explain(branch, value, path, depth+1)
		if text == "" {
			return ""
		}
		if types := branch.types(); len(types) == 0 || admits(types, value) {
			near = text
			candidates++
		}
	}
	if candidates == 1 {
		return near
	}
	var kinds []string
	for _, branch := range branches {
		for _, name := range branch.types() {
			if !slices.Contains(kinds, name) {
				kinds = append(kinds, name)
			}
		}
	}
	if candidates == 0 && len(kinds) > 0 {
		return at(path, "must be "+joinOr(kinds)+", not "+kindOf(value))
	}
	return at(path, fmt.Sprintf("fits none of the %d alternatives", len(branches)))
}

// listValues names the values that are allowed, and the one that was meant.
func (e *explainer) listValues(values []*schemaNode, value *schemaNode) string {
	var texts, words []string
	for _, v := range values {
		if v.is('"') {
			words = append(words, v.text)
		}
		if len(texts) < maxShownNames {
			texts = append(texts, oneLine(tagValue(v, 1), maxShownValue))
		}
	}
	text := strings.Join(texts, " | ")
	if len(values) > len(texts) {
		text += " | …"
	}
	if len(values) > 1 {
		text = "one of " + text
	}
	if value.is('"') {
		if near := nearest.Name(value.text, words); near != "" {
			text += "; did you mean " + shown(near) + "?"
		}
	}
	return text
}

func at(path, text string) string {
	if path == "" {
		return text
	}
	return path + ": " + text
}

// pathTo returns the path of a member, readable and of bounded length.
func pathTo(path, name string) string {
	if len(path) > 4*maxShownValue {
		path = "…"
	}
	switch {
	case !isPlainIdentifier(name) || len(name) > maxShownValue:
		return path + "[" + shown(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// shown returns a name as a message shows it.
func shown(name string) string { return "'" + oneLine(name, maxShownValue) + "'" }

func joinOr(names []string) string {
	texts := make([]string, 0, maxShownNames)
	for _, name := range names[:min(len(names), maxShownNames)] {
		texts = append(texts, oneLine(name, maxShownValue))
	}
	return strings.Join(texts, " or ")
}

func kindOf(v *schemaNode) string {
	switch v.kind {
	case '"':
		return "string"
	case '0':
		return "the number " + oneLine(v.text, maxShownValue)
	case 't', 'f':
		return "boolean"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "null"
}

func isWhole(n *schemaNode) bool {
	f := n.float()
	return f == float64(int64(f)) || f > 1<<62 || f < -(1<<62)
}

func formatNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// sameValue reports whether two JSON values are equal.
func sameValue(a, b *schemaNode, depth int) bool {
	if a.kind != b.kind || len(a.items) != len(b.items) || len(a.members) != len(b.members) || depth > MaxNesting {
		return false
	}
	switch a.kind {
	case '"':
		return a.text == b.text
	case '0':
		return a.float() == b.float()
	}
	for i := range a.items {
		if !sameValue(a.items[i], b.items[i], depth+1) {
			return false
		}
	}
	for _, m := range a.members {
		if other := b.get(m.name); other == nil || !sameValue(m.value, other, depth+1) {
			return false
		}
	}
	return true
}
