// Package refill fills the form of a rendered page with values that were
// entered before, such as those of a form whose session had expired.
package refill

import (
	"bytes"
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Page is a parsed page.
type Page struct{ root *html.Node }

// Parse returns the page of an HTML document.
func Parse(document []byte) (*Page, error) {
	root, err := html.Parse(bytes.NewReader(document))
	return &Page{root: root}, err
}

// Render returns the HTML document of the page.
func (p *Page) Render() ([]byte, error) {
	var b bytes.Buffer
	err := html.Render(&b, p.root)
	return b.Bytes(), err
}

// Insert puts HTML at the beginning of the page's main element.
func (p *Page) Insert(fragment string) error {
	for n := range p.root.Descendants() {
		if n.DataAtom != atom.Main {
			continue
		}
		nodes, err := html.ParseFragment(strings.NewReader(fragment), &html.Node{Type: html.ElementNode, Data: "main", DataAtom: atom.Main})
		first := n.FirstChild
		for _, node := range nodes {
			n.InsertBefore(node, first)
		}
		return err
	}
	return nil
}

// Fill sets the fields of the form that posts to path, and reports whether
// there is one with a field that the user can edit. Values without a field,
// such as those of rows that a script added, become hidden fields. Files can't
// be set.
func (p *Page) Fill(path string, values url.Values) bool {
	form := p.form(path, values)
	if form == nil {
		return false
	}
	rest := url.Values{}
	for name, all := range values {
		rest[name] = slices.Clone(all)
	}
	for _, field := range fieldsOf(p.root, form) {
		field.set(values, rest)
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		for _, value := range rest[name] {
			form.AppendChild(hidden(name, value))
		}
	}
	unfold(form)
	return true
}

// form returns the form with editable fields that posts to path. Among several
// it returns the one with the most of the names.
func (p *Page) form(path string, values url.Values) (best *html.Node) {
	most := 0
	for n := range p.root.Descendants() {
		if n.DataAtom != atom.Form || !strings.EqualFold(attr(n, "method"), "post") || pathOf(attr(n, "action")) != path {
			continue
		}
		count := 0
		for _, f := range fieldsOf(p.root, n) {
			if f.editable() && values.Has(f.name) {
				count++
			}
		}
		if count > most {
			best, most = n, count
		}
	}
	return best
}

// field is an element of a form.
type field struct {
	node       *html.Node
	name, kind string
}

// fieldsOf returns the fields of a form, also those outside that name it.
func fieldsOf(root, form *html.Node) (fields []field) {
	id := attr(form, "id")
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || attr(n, "name") == "" {
			continue
		}
		if owner := attr(n, "form"); owner != "" && owner != id || owner == "" && !within(n, form) {
			continue
		}
		f := field{node: n, name: attr(n, "name")}
		switch n.DataAtom {
		case atom.Textarea, atom.Select, atom.Button:
			f.kind = n.Data
		case atom.Input:
			f.kind = strings.ToLower(attr(n, "type"))
		default:
			continue
		}
		fields = append(fields, f)
	}
	return fields
}

func (f field) editable() bool {
	switch f.kind {
	case "hidden", "submit", "button", "image", "reset", "file":
		return false
	}
	return true
}

// set fills the field with its next value and removes that from rest. Hidden
// fields and buttons keep the values of the page.
func (f field) set(values, rest url.Values) {
	switch f.kind {
	case "hidden", "submit", "button", "image", "reset", "file":
		delete(rest, f.name)
	case "checkbox", "radio":
		value := attr(f.node, "value")
		if value == "" {
			value = "on"
		}
		setFlag(f.node, "checked", slices.Contains(values[f.name], value))
		drop(rest, f.name, value)
	case "select":
		for n := range f.node.Descendants() {
			if n.DataAtom == atom.Option && values.Has(f.name) {
				setFlag(n, "selected", slices.Contains(values[f.name], optionValue(n)))
			}
		}
		delete(rest, f.name)
	default:
		if len(rest[f.name]) == 0 {
			return
		}
		f.setText(rest[f.name][0])
		rest[f.name] = rest[f.name][1:]
	}
}

func (f field) setText(value string) {
	if f.kind != "textarea" {
		setAttr(f.node, "value", value)
		return
	}
	for f.node.FirstChild != nil {
		f.node.RemoveChild(f.node.FirstChild)
	}
	f.node.AppendChild(&html.Node{Type: html.TextNode, Data: value})
}

// drop removes one value of a name.
func drop(values url.Values, name, value string) {
	if i := slices.Index(values[name], value); i >= 0 {
		values[name] = slices.Delete(values[name], i, i+1)
	}
}

// unfold opens the elements around a form that hide it.
func unfold(form *html.Node) {
	for n := range form.Ancestors() {
		if n.DataAtom == atom.Details {
			setFlag(n, "open", true)
		}
	}
}

func hidden(name, value string) *html.Node {
	return &html.Node{Type: html.ElementNode, Data: "input", DataAtom: atom.Input, Attr: []html.Attribute{
		{Key: "type", Val: "hidden"}, {Key: "name", Val: name}, {Key: "value", Val: value},
	}}
}

func optionValue(n *html.Node) string {
	if i := attrIndex(n, "value"); i >= 0 {
		return n.Attr[i].Val
	}
	var text strings.Builder
	for t := range n.Descendants() {
		if t.Type == html.TextNode {
			text.WriteString(t.Data)
		}
	}
	return strings.TrimSpace(text.String())
}

func within(n, form *html.Node) bool {
	for a := range n.Ancestors() {
		if a == form {
			return true
		}
	}
	return false
}

func pathOf(action string) string {
	u, err := url.Parse(action)
	if err != nil {
		return ""
	}
	return u.Path
}

func attrIndex(n *html.Node, name string) int {
	return slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attr(n *html.Node, name string) string {
	if i := attrIndex(n, name); i >= 0 {
		return n.Attr[i].Val
	}
	return ""
}

func setAttr(n *html.Node, name, value string) {
	if i := attrIndex(n, name); i >= 0 {
		n.Attr[i].Val = value
		return
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

func setFlag(n *html.Node, name string, on bool) {
	i := attrIndex(n, name)
	switch {
	case on && i < 0:
		n.Attr = append(n.Attr, html.Attribute{Key: name})
	case !on && i >= 0:
		n.Attr = slices.Delete(n.Attr, i, i+1)
	}
}
