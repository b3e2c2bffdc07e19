// Package listing gathers the pages of an upstream's list and leaves out what
// cannot be offered, with a warning.
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

// Limits of one list. Sizes are bytes.
const (
	// maxListed is the number of tools of one server, and of prompts, of
	// resources and of resource templates; the rest is left out.
	maxListed = 5_000
	// maxListPages is the number of pages of one list.
	maxListPages = 500
	// maxListBytes bounds all definitions of one list together.
	maxListBytes = 32 << 20
	// maxIdentBytes bounds what identifies a prompt, resource or template, so
	// that it fits an index of either database.
	maxIdentBytes = 2_000
	// MaxWarnings bounds the warnings of one listing.
	MaxWarnings = 100
)

// Kind is what sets one list of an upstream apart from the others.
type Kind struct {
	Method, Member string
	Capability     string // that announces it; empty when it is asked for always
	ident          string // the member that tells elements apart
	one, Many      string // for messages, such as "resource templates"
	// refuse returns why an element cannot be offered, or nothing.
	refuse func(raw []byte, o *rawjson.Object, ident string, stateless bool) string
}

// Tools returns what lists of tools are.
func Tools() Kind {
	return Kind{Method: "tools/list", Member: "tools", ident: "name", one: "tool", Many: "tools", refuse: refuseTool}
}

// Offers returns what lists of prompts, resources or templates are.
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

// refuseTool returns why a tool cannot be offered, or nothing.
func refuseTool(raw []byte, o *rawjson.Object, _ string, stateless bool) string {
	if support, _ := o.Object("execution").String("taskSupport"); support == "required" {
		return "it can only run as a task, which the gateway does not offer"
	}
	if stateless {
		if _, err := upstream.ParseParamHeaders(raw); err != nil {
			return err.Error()
		}
	}
	return ""
}

// refuseOffer returns why something other than a tool cannot be offered, or
// nothing. A key of the database is bounded and holds no null character.
func refuseOffer(_ []byte, _ *rawjson.Object, ident string, _ bool) string {
	switch {
	case len(ident) > maxIdentBytes:
		return fmt.Sprintf("what identifies it is longer than %d bytes", maxIdentBytes)
	case strings.ContainsRune(ident, 0):
		return "what identifies it holds a null character"
	}
	return ""
}

// List gathers the pages of one list.
type List struct {
	Kind     Kind
	Items    [][]byte
	Idents   []string // of the items
	About    *upstream.Description
	Warnings []string

	known   map[string]bool // every ident
	cursors map[string]bool
	size    int
	pages   int
	seen    int // elements looked at, for messages
}

// New returns a list of the kind without any element.
func New(kind Kind) *List {
	return &List{Kind: kind, known: map[string]bool{}, cursors: map[string]bool{}}
}

// nextCursor returns the raw cursor of the next page. The empty string is a cursor
// in revision 2026-07-28; before, upstreams use it for the end.
func nextCursor(o *rawjson.Object, stateless bool) (string, bool) {
	raw := o.Get("nextCursor")
	cursor, ok := rawjson.String(raw)
	return string(raw), ok && (cursor != "" || stateless)
}

// Next returns the params that ask for the page behind the one that was added,
// or nil behind the last.
func (l *List) Next(page *rawjson.Object, stateless bool) (params []byte) {
	l.pages++
	cursor, ok := nextCursor(page, stateless)
	switch {
	case !ok:
		return nil
	case l.cursors[cursor]:
		l.warn("the list of %s repeats itself and was cut off after page %d", l.Kind.Many, l.pages)
		return nil
	case l.pages == maxListPages:
		l.warn("the list of %s has more than %d pages; the rest was left out", l.Kind.Many, maxListPages)
		return nil
	}
	l.cursors[cursor] = true
	return append(append([]byte(`{"cursor":`), page.Get("nextCursor")...), '}')
}

// Add takes a page in. It reports whether the list is as long as it may be.
func (l *List) Add(elements [][]byte, stateless bool) (full bool) {
	for _, raw := range elements {
		l.seen++
		ident, shown, problem := l.check(raw, stateless)
		if problem != "" {
			l.warn("%s was left out: %s", shown, problem)
			continue
		}
		if len(l.Items) == maxListed {
			l.warn("there are more than %d %s; the rest was left out", maxListed, l.Kind.Many)
			return true
		}
		if l.size += len(raw); l.size > maxListBytes {
			l.warn("the definitions of the %s take more than %d MiB; the rest was left out", l.Kind.Many, maxListBytes>>20)
			return true
		}
		l.Items, l.Idents = append(l.Items, raw), append(l.Idents, ident)
	}
	return false
}

// check returns what identifies an element, how to name it in a warning, and
// why it cannot be offered.
func (l *List) check(raw []byte, stateless bool) (ident, shown, problem string) {
	shown = l.Kind.one + " " + strconv.Itoa(l.seen)
	if rawjson.Kind(raw) != '{' {
		return "", shown, "it is not an object"
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return "", shown, "it is not JSON"
	}
	ident, ok := o.String(l.Kind.ident)
	if !ok || ident == "" {
		return "", shown, "it has no " + l.Kind.ident
	}
	shown = l.Kind.one + " " + strconv.Quote(wire.Excerpt([]byte(ident)))
	if !rawjson.IsExact(o.Get(l.Kind.ident)) {
		return ident, shown, "its " + l.Kind.ident + " holds half of a surrogate pair and cannot be sent back"
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
		l.Warnings = append(l.Warnings, "there are further warnings, which are not shown")
	default:
		l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
	}
}
