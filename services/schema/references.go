package schema

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
)

// Document is one schema with its resolved references.
type Document struct {
	root *Node
	id   string // of the root, without a fragment
	// RefsOnly reports whether keywords next to $ref are ignored, as in every
	// draft before 2019-09.
	RefsOnly bool
	anchors  map[string]*Node
	// mixed reports whether parts of the document have their own identifiers.
	// References inside them may then resolve differently.
	mixed bool
}

// NewDocument returns the document of a whole schema.
func NewDocument(root *Node) *Document {
	d := &Document{root: root, id: root.StringOf("$id")}
	if d.id == "" {
		d.id = root.StringOf("id")
	}
	d.id, _, _ = strings.Cut(d.id, "#")
	version := root.StringOf("$schema")
	for _, old := range [...]string{"draft-03", "draft-04", "draft-06", "draft-07"} {
		d.RefsOnly = d.RefsOnly || strings.Contains(version, old)
	}
	d.index(root, true)
	return d
}

// index records the anchors below a node. It visits every position where a
// schema can be, and harmlessly some others.
func (d *Document) index(n *Node, top bool) {
	if n == nil {
		return
	}
	for _, keyword := range [...]string{"$anchor", "$dynamicAnchor"} {
		if name := n.StringOf(keyword); name != "" {
			d.anchor(name, n)
		}
	}
	if id := n.StringOf("$id"); id != "" && !top {
		if name, isAnchor := strings.CutPrefix(id, "#"); isAnchor {
			d.anchor(name, n)
		} else {
			d.mixed = true
		}
	}
	for _, m := range n.Members {
		switch m.Name {
		case "enum", "const", "default", "examples", "example":
		default:
			d.index(m.Value, false)
		}
	}
	for _, item := range n.Items {
		d.index(item, false)
	}
}

func (d *Document) anchor(name string, n *Node) {
	if d.anchors == nil {
		d.anchors = map[string]*Node{}
	}
	if d.anchors[name] == nil {
		d.anchors[name] = n
	}
}

// Resolve returns the schema that a reference points to and a short name for
// it. It returns nil for a reference into another document, which is never
// fetched, and for a broken one.
func (d *Document) Resolve(ref string) (target *Node, name string) {
	base, fragment, _ := strings.Cut(ref, "#")
	if d.mixed || base != "" && base != d.id {
		return nil, ""
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, ""
	}
	if fragment == "" {
		return d.root, ""
	}
	if !strings.HasPrefix(fragment, "/") {
		return d.anchors[fragment], fragment
	}
	n := d.root
	for part := range strings.SplitSeq(fragment[1:], "/") {
		name = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		if n = n.child(name); n == nil {
			return nil, ""
		}
	}
	if !n.isSchema() {
		return nil, ""
	}
	return n, name
}

// ExternalRef returns the first $ref or $dynamicRef in a raw schema that refers to
// another document by its address, at any depth and in duplicate members; "" if
// there is none. References to JSON Schema's own dialects don't count.
func ExternalRef(raw []byte) string {
	if !bytes.Contains(raw, []byte(`ef"`)) {
		return ""
	}
	d := newDecoder(raw)
	for isReference := false; ; {
		token, err := d.ReadToken()
		if err != nil {
			return ""
		}
		text := ""
		if token.Kind() == '"' {
			text = token.String()
		}
		if isReference && leadsOut(text) {
			return text
		}
		container, read := d.StackIndex(d.StackDepth())
		isReference = container == '{' && read%2 == 1 && (text == "$ref" || text == "$dynamicRef")
	}
}

func leadsOut(ref string) bool {
	scheme, rest, ok := strings.Cut(ref, ":")
	if !ok || strings.ContainsAny(scheme, "/#?") {
		return false
	}
	return !strings.HasPrefix(rest, "//json-schema.org/")
}

// child returns the member or element named by one part of a JSON Pointer (RFC
// 6901, section 4).
func (n *Node) child(part string) *Node {
	if n.Is('[') {
		i, err := strconv.ParseUint(part, 10, 31)
		if err != nil || int(i) >= len(n.Items) {
			return nil
		}
		return n.Items[i]
	}
	return n.Get(part)
}
