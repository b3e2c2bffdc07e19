package toolset

import (
	"bytes"

	"mcpgateway/services/toolset/addresses"
)

// address sets the listed definition of a tool, in which the URIs of its user
// interfaces are those that clients use. It reports whether that changed it.
func (t *Tool) address(book *addresses.Book, alias string) bool {
	definition := book.Definition(alias, t.own)
	if bytes.Equal(definition, t.Definition) {
		return false
	}
	t.Definition, t.memo = definition, &memo{}
	t.Handshake, t.WrapsOutput = forHandshake(definition)
	return true
}

// addressed returns the part with the definitions that clients receive by
// another book: p itself if none differs.
func (p *serverPart) addressed(book *addresses.Book) *serverPart {
	next := *p
	next.all, next.shown, next.byName, next.handshake = make([]*Tool, len(p.all)), nil, make(map[string]*Tool, len(p.byName)), false
	changed := false
	for i, t := range p.all {
		tool := *t
		if tool.address(book, p.server.Config.Alias) {
			t, changed = &tool, true
		}
		next.all[i] = t
		next.byName[t.FullName], next.byName[t.Name] = t, t
		if t.Hidden == Visible {
			next.shown, next.handshake = append(next.shown, t), next.handshake || t.Handshake != nil
		}
	}
	if !changed {
		return p
	}
	next.hash = next.hashOnce()
	return &next
}
