package codemode

import (
	"net/url"
	"strconv"
	"strings"
)

// schemaDocument is one schema with what its references mean.
type schemaDocument struct {
	root *schemaNode
	id   string // of the root, without a fragment
	// oldRefs says that the keywords beside $ref are ignored, as in every draft
	// before 2019-09.
	oldRefs bool
	anchors map[string]*schemaNode
	// mixed says that parts of the document have identifiers of their own, so
	// that a reference inside them may mean something else than it says.
	mixed bool
}

func newSchemaDocument(root *schemaNode) *schemaDocument {
	d := &schemaDocument{root: root, id: root.string("$id")}
	if d.id == "" {
		d.id = root.string("id")
	}
	d.id, _, _ = strings.Cut(d.id, "#")
	version := root.string("$schema")
	for _, old := range [...]string{"draft-03", "draft-04", "draft-06", "draft-07"} {
		d.oldRefs = d.oldRefs || strings.Contains(version, old)
	}
	d.index(root, true)
	return d
}

// index notes the anchors below a node. It looks into every place where a
// schema can stand, and into some where none can, which does no harm.
func (d *schemaDocument) index(n *schemaNode, top bool) {
	if n == nil {
		return
	}
	for _, keyword := range [...]string{"$anchor", "$dynamicAnchor"} {
		if name := n.string(keyword); name != "" {
			d.anchor(name, n)
		}
	}
	if id := n.string("$id"); id != "" && !top {
		if name, isAnchor := strings.CutPrefix(id, "#"); isAnchor {
			d.anchor(name, n)
		} else {
			d.mixed = true
		}
	}
	for _, m := range n.members {
		switch m.name {
		case "enum", "const", "default", "examples", "example":
		default:
			d.index(m.value, false)
		}
	}
	for _, item := range n.items {
		d.index(item, false)
	}
}

func (d *schemaDocument) anchor(name string, n *schemaNode) {
	if d.anchors == nil {
		d.anchors = map[string]*schemaNode{}
	}
	if d.anchors[name] == nil {
		d.anchors[name] = n
	}
}

// resolve returns the schema that a reference means and a short name for it.
// It returns nil for a reference into another document, which is never
// fetched, and for one that leads nowhere.
func (d *schemaDocument) resolve(ref string) (target *schemaNode, name string) {
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

// child returns the member or element that one part of a JSON Pointer names
// (RFC 6901, section 4).
func (n *schemaNode) child(part string) *schemaNode {
	if n.is('[') {
		i, err := strconv.ParseUint(part, 10, 31)
		if err != nil || int(i) >= len(n.items) {
			return nil
		}
		return n.items[i]
	}
	return n.get(part)
}
