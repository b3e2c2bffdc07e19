package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/fault"
	"mcpgateway/services/nearest"
)

// mismatch is the reason for which a schema rejects a value, and its place. The
// zero value is none.
type mismatch struct {
	why string
	at  *place
}

// found reports whether there is a mismatch.
func (m mismatch) found() bool { return m.why != "" }

// String returns one sentence: where, and what would be valid there.
func (m mismatch) String() string {
	if path := m.at.text(); path != "" {
		return path + ": " + m.why
	}
	return m.why
}

// fault returns INVALID_PARAMETER with the mismatch.
func (m mismatch) fault() error {
	if !m.found() {
		return fault.Invalid("arguments don't match the tool's inputSchema")
	}
	f := fault.Invalid("%s", m)
	f.Path = m.at.pointer()
	return f
}

// explainMismatch returns why a schema rejects arguments, or the zero value if
// it can't tell.
func explainMismatch(doc *Document, value *Node) mismatch {
	e := &explainer{doc: doc, left: maxCheckSteps}
	return e.explain(doc.root, value, nil, 0)
}

// explainer finds the first error of a value. It supports fewer keywords than
// the validation itself.
type explainer struct {
	doc  *Document
	left int
}

// explain returns the first mismatch of a value at a place.
func (e *explainer) explain(n, value *Node, at *place, depth int) mismatch {
	if e.left--; e.left < 0 || depth > MaxNesting {
		return mismatch{}
	}
	if n.Is('f') {
		return mismatch{"nothing is allowed here", at}
	}
	if !n.Is('{') {
		return mismatch{}
	}
	if ref := n.StringOf("$ref"); ref != "" {
		if target, _ := e.doc.Resolve(ref); target != nil {
			if m := e.explain(target, value, at, depth+1); m.found() {
				return m
			}
		}
		if e.doc.RefsOnly {
			return mismatch{}
		}
	}
	if why := e.ownKeywords(n, value); why != "" {
		return mismatch{why, at}
	}
	for _, part := range n.ListOf("allOf") {
		if m := e.explain(part, value, at, depth+1); m.found() {
			return m
		}
	}
	var m mismatch
	switch value.Kind {
	case '{':
		m = e.members(n, value, at, depth)
	case '[':
		m = e.items(n, value, at, depth)
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		if !m.found() {
			m = e.alternatives(n.ListOf(keyword), value, at, depth)
		}
	}
	return m
}

// ownKeywords checks the keywords that apply to the value as a whole. It returns
// why they reject the value, or "".
func (e *explainer) ownKeywords(n, value *Node) string {
	types := n.Types()
	if len(types) > 0 && !(value.Is('n') && n.Get("nullable").Is('t')) {
		whole := value.Is('0') && !isWhole(value) && !slices.Contains(types, "number")
		if !Admits(types, value) || whole {
			return "expected " + joinOr(types) + ", got " + kindOf(value)
		}
	}
	if values, ok := LiteralsOf(n); ok && !slices.ContainsFunc(values, func(v *Node) bool { return sameValue(v, value, 0) }) {
		return "must be " + e.listValues(values, value)
	}
	switch {
	case value.Is('0'):
		f := value.float()
		if least := n.NumberOf("minimum"); least != nil && f < *least {
			return "must be at least " + formatNumber(*least)
		}
		if most := n.NumberOf("maximum"); most != nil && f > *most {
			return "must be at most " + formatNumber(*most)
		}
	case value.Is('"'):
		length := utf8.RuneCountInString(value.Text)
		if least, ok := n.CountOf("minLength"); ok && length < least {
			return fmt.Sprintf("must have at least %d characters", least)
		}
		if most, ok := n.CountOf("maxLength"); ok && length > most {
			return fmt.Sprintf("must have at most %d characters", most)
		}
		if pattern := n.StringOf("pattern"); isPortable(pattern) {
			if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(value.Text) {
				return "must match the pattern " + OneLine(pattern, MaxTagText)
			}
		}
	}
	return ""
}

// members returns the first mismatch of an object's members.
func (e *explainer) members(n, value *Node, at *place, depth int) mismatch {
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
				return mismatch{fmt.Sprintf("unknown %s, did you mean %s?", shown(name), shown(near)), at.named(name)}
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
			return mismatch{"unknown " + shown(unknown[0]) + known, at.named(unknown[0])}
		}
	}
	if len(missing) > 0 {
		return mismatch{shown(missing[0]) + " is missing", at.named(missing[0])}
	}
	for _, m := range value.Members {
		part := properties.Get(m.Name)
		if part == nil {
			part = n.Get("additionalProperties")
		}
		if part == nil {
			continue
		}
		if wrong := e.explain(part, m.Value, at.member(m.Name), depth+1); wrong.found() {
			return wrong
		}
	}
	return mismatch{}
}

// items returns the first mismatch of an array's elements.
func (e *explainer) items(n, value *Node, at *place, depth int) mismatch {
	if least, ok := n.CountOf("minItems"); ok && len(value.Items) < least {
		return mismatch{fmt.Sprintf("must have at least %d elements", least), at}
	}
	if most, ok := n.CountOf("maxItems"); ok && len(value.Items) > most {
		return mismatch{fmt.Sprintf("must have at most %d elements", most), at}
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
		if m := e.explain(part, item, at.item(i), depth+1); m.found() {
			return m
		}
	}
	return mismatch{}
}

// alternatives returns the mismatch when no branch matches: that of the only
// branch with the value's type, or one about all branches.
func (e *explainer) alternatives(branches []*Node, value *Node, at *place, depth int) mismatch {
	if len(branches) == 0 {
		return mismatch{}
	}
	var near mismatch
	candidates := 0
	for _, branch := range branches {
		m := e.explain(branch, value, at, depth+1)
		if !m.found() {
			return mismatch{}
		}
		if types := branch.Types(); len(types) == 0 || Admits(types, value) {
			near = m
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
		return mismatch{"expected " + joinOr(kinds) + ", got " + kindOf(value), at}
	}
	return mismatch{fmt.Sprintf("matches none of the %d alternatives", len(branches)), at}
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
