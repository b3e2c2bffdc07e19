// Package listing collects the pages of an upstream's list. It omits elements
// that cannot be offered and adds a warning for each.
package listing

import (
	"fmt"
	"strconv"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// Limits of one list. Sizes are in bytes.
const (
	// maxListed is the maximum number of tools, prompts, resources or resource
	// templates of one server. Further ones are omitted.
	maxListed = 5_000
	// maxListPages is the maximum number of pages of one list.
	maxListPages = 500
	// maxListBytes is the maximum size of all definitions of one list.
	maxListBytes = 32 << 20
	// maxIdentBytes is the maximum size of the identifier of a prompt, resource
	// or template, so that it fits into an index of either database.
	maxIdentBytes = 2_000
	// MaxWarnings is the maximum number of warnings of one listing.
	MaxWarnings = 100
)

// Kind describes one kind of list.
type Kind struct {
	Method, Member string
	Capability     string // required capability; empty if the list is always requested
	ident          string // the identifying member of an element
	one, Many      string // for messages, such as "resource templates"
	// refuse returns why an element cannot be offered, or "".
	refuse func(raw []byte, o *rawjson.Object, ident string, stateless bool) string
}

// Tools returns the kind of tools.
func Tools() Kind {
	return Kind{Method: "tools/list", Member: "tools", ident: "name", one: "tool", Many: "tools", refuse: refuseTool}
}

// Offers returns the kind of prompts, resources or resource templates.
func Offers(kind models.ListingKind) Kind {
	switch kind {
	case models.ListingPrompt:
		return Kind{Method: "prompts/list", Member: "prompts", Capability: "prompts", ident: "name", one: "prompt", Many: "prompts", refuse: refuseOffer}
	case models.ListingTemplate:
		return Kind{
			Method: "resources/templates/list", Member: "resourceTemplates", Capability: "resources", ident: "uriTemplate",
			one: "resource template", Many: "resource templates", refuse: refuseOffer,
		}
	default:
		return Kind{Method: "resources/list", Member: "resources", Capability: "resources", ident: "uri", one: "resource", Many: "resources", refuse: refuseOffer}
	}
}

// refuseTool returns why a tool cannot be offered, or "".
func refuseTool(raw []byte, _ *rawjson.Object, _ string, stateless bool) string {
	if stateless {
		if _, err := upstream.ParseParamHeaders(raw); err != nil {
			return err.Error()
		}
	}
	return ""
}

// refuseOffer returns why something other than a tool cannot be offered, or "".
// A database key has a maximum length and cannot contain a null character.
func refuseOffer(_ []byte, _ *rawjson.Object, ident string, _ bool) string {
	switch {
	case len(ident) > maxIdentBytes:
		return fmt.Sprintf("its identifier is longer than %d bytes", maxIdentBytes)
	case strings.ContainsRune(ident, 0):
		return "its identifier contains a null character"
	}
	return ""
}

// List collects the pages of one list.
type List struct {
	Kind     Kind
	Items    [][]byte
	Idents   []string // identifiers of Items
	About    *upstream.Description
	Warnings []string

	known   map[string]bool // all identifiers so far
	cursors map[string]bool
	size    int
	pages   int
	seen    int // number of checked elements, for messages
}

// New returns an empty list.
func New(kind Kind) *List {
	return &List{Kind: kind, known: map[string]bool{}, cursors: map[string]bool{}}
}

// nextCursor returns the raw cursor of the next page. In revision 2026-07-28
// the empty string is a cursor. In earlier revisions upstreams use it for the
// end.
func nextCursor(o *rawjson.Object, stateless bool) (string, bool) {
	raw := o.Get("nextCursor")
	cursor, ok := rawjson.String(raw)
	return string(raw), ok && (cursor != "" || stateless)
}

// Next returns the params of the request for the next page, or nil after the
// last one. It must be called after Add.
func (l *List) Next(page *rawjson.Object, stateless bool) (params []byte) {
	l.pages++
	cursor, ok := nextCursor(page, stateless)
	switch {
	case !ok:
		return nil
	case l.cursors[cursor]:
		l.warn("the list of %s repeats itself and was truncated after page %d", l.Kind.Many, l.pages)
		return nil
	case l.pages == maxListPages:
		l.warn("the list of %s has more than %d pages; the rest was omitted", l.Kind.Many, maxListPages)
		return nil
	}
	l.cursors[cursor] = true
	return append(append([]byte(`{"cursor":`), page.Get("nextCursor")...), '}')
}

// Add adds a page. It reports whether the list has reached its maximum size.
func (l *List) Add(elements [][]byte, stateless bool) (full bool) {
	for _, raw := range elements {
		l.seen++
		ident, shown, problem := l.check(raw, stateless)
		if problem != "" {
			l.warn("%s was omitted: %s", shown, problem)
			continue
		}
		if len(l.Items) == maxListed {
			l.warn("there are more than %d %s; the rest was omitted", maxListed, l.Kind.Many)
			return true
		}
		if l.size += len(raw); l.size > maxListBytes {
			l.warn("the definitions of the %s are larger than %d MiB; the rest was omitted", l.Kind.Many, maxListBytes>>20)
			return true
		}
		l.Items, l.Idents = append(l.Items, raw), append(l.Idents, ident)
	}
	return false
}

// check returns the identifier of an element, its name in warnings, and why it
// cannot be offered.
func (l *List) check(raw []byte, stateless bool) (ident, shown, problem string) {
	shown = l.Kind.one + " " + strconv.Itoa(l.seen)
	if rawjson.Kind(raw) != '{' {
		return "", shown, "it is not an object"
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return "", shown, "it is not valid JSON"
	}
	ident, ok := o.String(l.Kind.ident)
	if !ok || ident == "" {
		return "", shown, "it has no " + l.Kind.ident
	}
	shown = l.Kind.one + " " + strconv.Quote(wire.Excerpt([]byte(ident)))
	if !rawjson.IsExact(o.Get(l.Kind.ident)) {
		return ident, shown, "its " + l.Kind.ident + " contains an unpaired surrogate"
	}
	if l.known[ident] {
		return ident, shown, "another " + l.Kind.one + " has the same " + l.Kind.ident
	}
	if problem := l.Kind.refuse(raw, o, ident, stateless); problem != "" {
		return ident, shown, problem
	}
	l.known[ident] = true
	return ident, shown, ""
}

func (l *List) warn(format string, args ...any) {
	switch len(l.Warnings) {
	case MaxWarnings:
	case MaxWarnings - 1:
		l.Warnings = append(l.Warnings, "further warnings are not shown")
	default:
		l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
	}
}
