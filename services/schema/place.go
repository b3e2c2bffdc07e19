package schema

import (
	"strconv"
	"strings"
)

// maxPointer is the maximum length of a JSON pointer in bytes. Places with longer
// ones have none.
const maxPointer = 1024

// place is a position in a value; nil is the value itself.
type place struct {
	in    *place
	name  string // of a member
	index int    // of an element; -1 for a member
	// hidden reports whether only the pointer has the name, because the message
	// has it already.
	hidden bool
}

func (p *place) member(name string) *place { return &place{in: p, name: name, index: -1} }

// named is like member for a member that the message names.
func (p *place) named(name string) *place {
	return &place{in: p, name: name, index: -1, hidden: true}
}

func (p *place) item(i int) *place { return &place{in: p, index: i} }

// text returns the readable path, limited in length, or "".
func (p *place) text() string {
	switch {
	case p == nil:
		return ""
	case p.hidden:
		return p.in.text()
	case p.index >= 0:
		return p.in.text() + "[" + strconv.Itoa(p.index) + "]"
	}
	path := p.in.text()
	if len(path) > 4*maxShownValue {
		path = "…"
	}
	switch {
	case !IsPlainIdentifier(p.name) || len(p.name) > maxShownValue:
		return path + "[" + shown(p.name) + "]"
	case path == "":
		return p.name
	}
	return path + "." + p.name
}

// pointer returns the JSON pointer (RFC 6901), or "" for the value itself and
// beyond maxPointer.
func (p *place) pointer() string {
	var steps []string
	size := 0
	for ; p != nil; p = p.in {
		step := strconv.Itoa(p.index)
		if p.index < 0 {
			step = pointerEscapes.Replace(p.name)
		}
		if size += 1 + len(step); size > maxPointer {
			return ""
		}
		steps = append(steps, step)
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(steps[i])
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
