package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/nearest"
)

// explainMismatch returns one sentence that explains why a schema rejects
// arguments: where, and what would be valid there.
func explainMismatch(doc *Document, value *Node) string {
	e := &explainer{doc: doc, left: maxCheckSteps}
	if text := e.explain(doc.root, value, "", 0); text != "" {
		return text
	}
	return "they don't match the tool's inputSchema"
}

// explainer finds the first error of a value. It supports fewer keywords than
// the validation itself.
type explainer struct {
	doc  *Document
	left int
}

// explain returns the error of a value at a path, or "" if it finds none.
func (e *explainer) explain(n, value *Node, path string, depth int) string {
	if e.left--; e.left < 0 || depth > MaxNesting {
		return ""
	}
	if n.Is('f') {
		return at(path, "nothing is allowed here")
	}
	if !n.Is('{') {
		return ""
	}
	if ref := n.StringOf("$ref"); ref != "" {
		if target, _ := e.doc.Resolve(ref); target != nil {
			if text := e.explain(target, value, path, depth+1); text != "" {
				return text
			}
		}
		if e.doc.RefsOnly {
			return ""
		}
	}
	if text := e.ownKeywords(n, value, path); text != "" {
		return text
	}
	for _, part := range n.ListOf("allOf") {
		if text := e.explain(part, value, path, depth+1); text != "" {
			return text
		}
	}
	var text string
	switch value.Kind {
	case '{':
		text = e.members(n, value, path, depth)
	case '[':
		text = e.items(n, value, path, depth)
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		if text == "" {
			text = e.alternatives(n.ListOf(keyword), value, path, depth)
		}
	}
	return text
}

// ownKeywords checks the keywords that apply to the value as a whole.
func (e *explainer) ownKeywords(n, value *Node, path string) string {
	types := n.Types()
	if len(types) > 0 && !(value.Is('n') && n.Get("nullable").Is('t')) {
		whole := value.Is('0') && !isWhole(value) && !slices.Contains(types, "number")
		if !Admits(types, value) || whole {
			return at(path, "must be "+joinOr(types)+", not "+kindOf(value))
		}
	}
	if values, ok := LiteralsOf(n); ok && !slices.ContainsFunc(values, func(v *Node) bool { return sameValue(v, value, 0) }) {
		return at(path, "must be "+e.listValues(values, value))
	}
	switch {
	case value.Is('0'):
		f := value.float()
		if least := n.NumberOf("minimum"); least != nil && f < *least {
			return at(path, "must be at least "+formatNumber(*least))
		}
		if most := n.NumberOf("maximum"); most != nil && f > *most {
			return at(path, "must be at most "+formatNumber(*most))
		}
	case value.Is('"'):
		length := utf8.RuneCountInString(value.Text)
		if least, ok := n.CountOf("minLength"); ok && length < least {
			return at(path, fmt.Sprintf("must have at least %d characters", least))
		}
		if most, ok := n.CountOf("maxLength"); ok && length > most {
			return at(path, fmt.Sprintf("must have at most %d characters", most))
		}
		if pattern := n.StringOf("pattern"); isPortable(pattern) {
			if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(value.Text) {
				return at(path, "must match the pattern "+OneLine(pattern, MaxTagText))
			}
		}
	}
	return ""
}

func (e *explainer) members(n, value *Node, path string, depth int) string {
	properties := n.ObjectOf("properties")
	var missing, unknown []string
	for _, name := range n.StringsOf("required") {
		if value.Get(name) == nil {
			missing = append(missing, name)
		}
	}
	closed := n.Get("additionalProperties").Is('f') && len(n.ObjectOf("patternProperties").All()) == 0
	for _, m := range value.Members {
		if properties.Get(m.Name) == nil {
			unknown = append(unknown, m.Name)
		}
	}
	if len(unknown) > 0 && (closed || len(missing) > 0) {
		free := make([]string, 0, len(properties.All()))
		for _, p := range properties.All() {
			if value.Get(p.Name) == nil {
				free = append(free, p.Name)
			}
		}
		for _, name := range unknown {
			if near := nearest.Name(name, free); near != "" {
				return at(path, fmt.Sprintf("unknown %s, did you mean %s?", shown(name), shown(near)))
			}
		}
		if closed {
			names := make([]string, 0, maxShownNames)
			for _, p := range properties.All()[:min(len(properties.All()), maxShownNames)] {
				names = append(names, shown(p.Name))
			}
			known := "; it takes none"
			if len(names) > 0 {
				known = "; known are " + strings.Join(names, ", ")
				if len(properties.All()) > maxShownNames {
					known += ", …"
				}
			}
			return at(path, "unknown "+shown(unknown[0])+known)
		}
	}
	if len(missing) > 0 {
		return at(path, shown(missing[0])+" is missing")
	}
	for _, m := range value.Members {
		part := properties.Get(m.Name)
		if part == nil {
			part = n.Get("additionalProperties")
		}
		if part == nil {
			continue
		}
		if text := e.explain(part, m.Value, pathTo(path, m.Name), depth+1); text != "" {
			return text
		}
	}
	return ""
}

func (e *explainer) items(n, value *Node, path string, depth int) string {
	if least, ok := n.CountOf("minItems"); ok && len(value.Items) < least {
		return at(path, fmt.Sprintf("must have at least %d elements", least))
	}
	if most, ok := n.CountOf("maxItems"); ok && len(value.Items) > most {
		return at(path, fmt.Sprintf("must have at most %d elements", most))
	}
	first, items := n.ListOf("prefixItems"), n.Get("items")
	if items.Is('[') {
		first, items = items.Items, n.Get("additionalItems")
	}
	for i, item := range value.Items {
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

// alternatives returns the error when no branch matches: that of the only
// branch with the value's type, or one about all branches.
func (e *explainer) alternatives(branches []*Node, value *Node, path string, depth int) string {
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
		if types := branch.Types(); len(types) == 0 || Admits(types, value) {
			near = text
			candidates++
		}
	}
	if candidates == 1 {
		return near
	}
	var kinds []string
	for _, branch := range branches {
		for _, name := range branch.Types() {
			if !slices.Contains(kinds, name) {
				kinds = append(kinds, name)
			}
		}
	}
	if candidates == 0 && len(kinds) > 0 {
		return at(path, "must be "+joinOr(kinds)+", not "+kindOf(value))
	}
	return at(path, fmt.Sprintf("matches none of the %d alternatives", len(branches)))
}

// listValues lists the allowed values and suggests the closest one.
func (e *explainer) listValues(values []*Node, value *Node) string {
	var texts, words []string
	for _, v := range values {
		if v.Is('"') {
			words = append(words, v.Text)
		}
		if len(texts) < maxShownNames {
			texts = append(texts, OneLine(ShortValue(v, 1), maxShownValue))
		}
	}
	text := strings.Join(texts, " | ")
	if len(values) > len(texts) {
		text += " | …"
	}
	if len(values) > 1 {
		text = "one of " + text
	}
	if value.Is('"') {
		if near := nearest.Name(value.Text, words); near != "" {
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

// pathTo returns the readable path of a member, limited in length.
func pathTo(path, name string) string {
	if len(path) > 4*maxShownValue {
		path = "…"
	}
	switch {
	case !IsPlainIdentifier(name) || len(name) > maxShownValue:
		return path + "[" + shown(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// shown returns a name in the form used in messages.
func shown(name string) string { return "'" + OneLine(name, maxShownValue) + "'" }

func joinOr(names []string) string {
	texts := make([]string, 0, maxShownNames)
	for _, name := range names[:min(len(names), maxShownNames)] {
		texts = append(texts, OneLine(name, maxShownValue))
	}
	return strings.Join(texts, " or ")
}

func kindOf(v *Node) string {
	switch v.Kind {
	case '"':
		return "string"
	case '0':
		return "the number " + OneLine(v.Text, maxShownValue)
	case 't', 'f':
		return "boolean"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "null"
}

func isWhole(n *Node) bool {
	f := n.float()
	return f == float64(int64(f)) || f > 1<<62 || f < -(1<<62)
}

func formatNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// sameValue reports whether two JSON values are equal.
func sameValue(a, b *Node, depth int) bool {
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) || len(a.Members) != len(b.Members) || depth > MaxNesting {
		return false
	}
	switch a.Kind {
	case '"':
		return a.Text == b.Text
	case '0':
		return a.float() == b.float()
	}
	for i := range a.Items {
		if !sameValue(a.Items[i], b.Items[i], depth+1) {
			return false
		}
	}
	for _, m := range a.Members {
		if other := b.Get(m.Name); other == nil || !sameValue(m.Value, other, depth+1) {
			return false
		}
	}
	return true
}
