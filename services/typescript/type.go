package typescript

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"mcpgateway/services/schema"
)

// tsType is a TypeScript type: a union of alternatives. Without alternatives it
// is never.
type tsType struct {
	alternatives []tsAlternative
	width        int // variants after expanding all intersections
}

// tsAlternative is one alternative of a union.
type tsAlternative struct {
	text string
	// shape is the JSON type of the values, or empty if unknown.
	shape string
	// bare means that the alternative covers its whole shape, so that a
	// narrower one of the same shape replaces it in an intersection.
	bare bool
	// joined means that the text is an intersection.
	joined bool
}

const (
	unknownText    = "unknown"
	openObjectText = "{ [key: string]: unknown }"
	noObjectText   = "Record<string, never>"
)

func neverType() tsType { return tsType{} }

func unknownType() tsType { return oneType(unknownText, "", false) }

func bareType(text, shape string) tsType { return oneType(text, shape, true) }

func oneType(text, shape string, bare bool) tsType {
	return tsType{alternatives: []tsAlternative{{text: text, shape: shape, bare: bare}}, width: 1}
}

func (t tsType) isUnknown() bool {
	return len(t.alternatives) == 1 && t.alternatives[0].text == unknownText
}

// shape returns the JSON type of all values of the type, or "" if they differ
// or it is unknown.
func (t tsType) shape() string {
	shape := ""
	for i, a := range t.alternatives {
		if i > 0 && a.shape != shape {
			return ""
		}
		shape = a.shape
	}
	return shape
}

// String returns the type for a position where nothing binds tighter.
func (t tsType) String() string {
	if len(t.alternatives) == 0 {
		return "never"
	}
	texts := make([]string, len(t.alternatives))
	for i, a := range t.alternatives {
		texts[i] = a.text
	}
	return strings.Join(texts, " | ")
}

// operand returns the type as an operand of [] or &.
func (t tsType) operand() string {
	if len(t.alternatives) > 1 || len(t.alternatives) == 1 && t.alternatives[0].joined {
		return "(" + t.String() + ")"
	}
	return t.String()
}

// unionOf returns the type of values that have any of the types.
func unionOf(types ...tsType) tsType {
	var out tsType
	seen := map[string]bool{}
	for _, t := range types {
		if t.isUnknown() {
			return unknownType()
		}
		out.width = min(out.width+t.width, math.MaxInt32)
		for _, a := range t.alternatives {
			if !seen[a.text] {
				seen[a.text] = true
				out.alternatives = append(out.alternatives, a)
			}
		}
	}
	return out
}

// intersect returns the type of values that have both types. If expanding them
// would exceed the limit, ok is false and it returns the wider type a.
func intersect(a, b tsType) (t tsType, ok bool) {
	switch {
	case a.isUnknown():
		return b, true
	case b.isUnknown():
		return a, true
	case len(a.alternatives) == 0 || len(b.alternatives) == 0:
		return neverType(), true
	case a.String() == b.String():
		return a, true
	}
	width := max(a.width, 1) * max(b.width, 1)
	if width > maxUnionWidth {
		// Only shapes still narrow the type, such as a string among others.
		if t, simple := narrowByShape(a, b); simple {
			return t, true
		}
		return a, false
	}
	if t, done := pairUp(a, b); done {
		t.width = width
		return t, true
	}
	// An object or array shape adds nothing to a named type.
	switch {
	case b.isBareContainer():
		return a, true
	case a.isBareContainer():
		return b, true
	}
	return tsType{[]tsAlternative{{text: a.operand() + " & " + b.operand(), joined: true}}, width}, true
}

func (t tsType) isBareContainer() bool {
	if len(t.alternatives) != 1 || !t.alternatives[0].bare {
		return false
	}
	shape := t.alternatives[0].shape
	return shape == "object" || shape == "array"
}

// pairUp intersects every alternative of a with every one of b that has the
// same shape. done is false if a shape is unknown.
func pairUp(a, b tsType) (t tsType, done bool) {
	var all []tsType
	for _, x := range a.alternatives {
		for _, y := range b.alternatives {
			switch {
			case x.shape == "" || y.shape == "":
				return tsType{}, false
			case x.shape != y.shape:
			case x.bare || x.text == y.text:
				all = append(all, tsType{alternatives: []tsAlternative{y}})
			case y.bare:
				all = append(all, tsType{alternatives: []tsAlternative{x}})
			case x.shape == "object" || x.shape == "array":
				left, right := tsType{alternatives: []tsAlternative{x}}, tsType{alternatives: []tsAlternative{y}}
				both := tsAlternative{text: left.operand() + " & " + right.operand(), shape: x.shape, joined: true}
				all = append(all, tsType{alternatives: []tsAlternative{both}})
			}
		}
	}
	return unionOf(all...), true
}

// narrowByShape returns the alternatives of one type that the other allows, if
// that consists only of whole shapes.
func narrowByShape(a, b tsType) (t tsType, simple bool) {
	for _, order := range [...][2]tsType{{a, b}, {b, a}} {
		whole, other := order[0], order[1]
		if slices.ContainsFunc(whole.alternatives, func(x tsAlternative) bool { return !x.bare }) ||
			slices.ContainsFunc(other.alternatives, func(x tsAlternative) bool { return x.shape == "" }) {
			continue
		}
		t := tsType{width: other.width}
		for _, x := range other.alternatives {
			if slices.ContainsFunc(whole.alternatives, func(w tsAlternative) bool { return w.shape == x.shape }) {
				t.alternatives = append(t.alternatives, x)
			}
		}
		return t, true
	}
	return tsType{}, false
}

// literalType returns the type of exactly one JSON value.
func literalType(n *schema.Node, depth int) tsType {
	if depth > MaxSchemaDepth {
		return unknownType()
	}
	switch n.Kind {
	case '"':
		return oneType(schema.Quote(n.Text), "string", false)
	case '0':
		return oneType(numberText(n.Text), "number", false)
	case 't', 'f':
		return oneType(string(n.Raw), "boolean", false)
	case 'n':
		return bareType("null", "null")
	case '[':
		texts := make([]string, len(n.Items))
		for i, item := range n.Items {
			texts[i] = literalType(item, depth+1).String()
		}
		return oneType("["+strings.Join(texts, ", ")+"]", "array", false)
	default:
		if len(n.Members) == 0 {
			return oneType(noObjectText, "object", false)
		}
		texts := make([]string, len(n.Members))
		for i, m := range n.Members {
			texts[i] = propertyName(m.Name) + ": " + literalType(m.Value, depth+1).String()
		}
		return oneType("{ "+strings.Join(texts, "; ")+" }", "object", false)
	}
}

// numberText returns a JSON number as a literal type, or "number" if a double
// can't represent it.
func numberText(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return "number"
	case f == 0:
		return "0"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// propertyName returns a name in the form used in an object type.
func propertyName(name string) string {
	if schema.IsPlainIdentifier(name) && name != "__proto__" {
		return name
	}
	return schema.Quote(name)
}
