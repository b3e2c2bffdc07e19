package schema

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
)

// Document is one schema with what its references mean.
type Document struct {
	root *Node
	id   string // of the root, without a fragment
	// RefsOnly says that the keywords beside $ref are ignored, as in every draft
	// before 2019-09.
	RefsOnly bool
	anchors  map[string]*Node
	// mixed says that parts of the document have identifiers of their own, so
	// that a reference inside them may mean something else than it says.
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

// index notes the anchors below a node. It looks into every place where a
// schema can stand, and into some where none can, which does no harm.
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

// Resolve returns the schema that a reference means and a short name for it.
// It returns nil for a reference into another document, which is never
// fetched, and for one that leads nowhere.
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

// Outside returns the first $ref or $dynamicRef within a raw schema, however
// deep and however often its members are named, that names another document by
// its address; "" when there is none. The addresses of JSON Schema's own
// dialects are known to every reader.
func Outside(raw []byte) string {
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

// child returns the member or element that one part of a JSON Pointer names
// (RFC 6901, section 4).
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
