package upstream

import (
	"fmt"
	"strconv"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
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

// listKind is what sets one list of an upstream apart from the others.
type listKind struct {
	method, member string
	capability     string // that announces it; empty when it is asked for always
	ident          string // the member that tells elements apart
	one, many      string // for messages
	// refuse returns why an element cannot be offered, or nothing.
	refuse func(raw []byte, o *rawjson.Object, ident string, stateless bool) string
}

// ListName returns the name of a list of offers in messages, such as
// "resource templates".
func ListName(kind models.ListingKind) string { return offerKind(kind).many }

// toolKind returns what lists of tools are.
func toolKind() listKind {
	return listKind{method: "tools/list", member: "tools", ident: "name", one: "tool", many: "tools", refuse: refuseTool}
}

// offerKind returns what lists of prompts, resources or templates are.
func offerKind(kind models.ListingKind) listKind {
	switch kind {
	case models.ListingPrompt:
		return listKind{method: "prompts/list", member: "prompts", capability: "prompts", ident: "name", one: "prompt", many: "prompts", refuse: refuseOffer}
	case models.ListingTemplate:
		return listKind{
			method: "resources/templates/list", member: "resourceTemplates", capability: "resources", ident: "uriTemplate",
			one: "resource template", many: "resource templates", refuse: refuseOffer,
		}
	default:
		return listKind{method: "resources/list", member: "resources", capability: "resources", ident: "uri", one: "resource", many: "resources", refuse: refuseOffer}
	}
}

// refuseTool returns why a tool cannot be offered, or nothing.
func refuseTool(raw []byte, o *rawjson.Object, _ string, stateless bool) string {
	if support, _ := o.Object("execution").String("taskSupport"); support == "required" {
		return "it can only run as a task, which the gateway does not offer"
	}
	if stateless {
		if _, err := ParseParamHeaders(raw); err != nil {
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

// lister gathers the pages of one list.
type lister struct {
	kind     listKind
	items    [][]byte
	idents   []string // of the items
	about    *Description
	warnings []string

	known   map[string]bool // every ident
	cursors map[string]bool
	size    int
	pages   int
	seen    int // elements looked at, for messages
}

func newLister(kind listKind) *lister {
	return &lister{kind: kind, known: map[string]bool{}, cursors: map[string]bool{}}
}

// nextCursor returns the raw cursor of the next page. The empty string is a cursor
// in revision 2026-07-28; before, upstreams use it for the end.
func nextCursor(o *rawjson.Object, stateless bool) (string, bool) {
	raw := o.Get("nextCursor")
	cursor, ok := rawjson.String(raw)
	return string(raw), ok && (cursor != "" || stateless)
}

// next returns the params that ask for the page behind the one that was added,
// or nil behind the last.
func (l *lister) next(page *rawjson.Object, stateless bool) (params []byte) {
	l.pages++
	cursor, ok := nextCursor(page, stateless)
	switch {
	case !ok:
		return nil
	case l.cursors[cursor]:
		l.warn("the list of %s repeats itself and was cut off after page %d", l.kind.many, l.pages)
		return nil
	case l.pages == maxListPages:
		l.warn("the list of %s has more than %d pages; the rest was left out", l.kind.many, maxListPages)
		return nil
	}
	l.cursors[cursor] = true
	return append(append([]byte(`{"cursor":`), page.Get("nextCursor")...), '}')
}

// add takes a page in. It reports whether the list is as long as it may be.
func (l *lister) add(elements [][]byte, stateless bool) (full bool) {
	for _, raw := range elements {
		l.seen++
		ident, shown, problem := l.check(raw, stateless)
		if problem != "" {
			l.warn("%s was left out: %s", shown, problem)
			continue
		}
		if len(l.items) == maxListed {
			l.warn("there are more than %d %s; the rest was left out", maxListed, l.kind.many)
			return true
		}
		if l.size += len(raw); l.size > maxListBytes {
			l.warn("the definitions of the %s take more than %d MiB; the rest was left out", l.kind.many, maxListBytes>>20)
			return true
		}
		l.items, l.idents = append(l.items, raw), append(l.idents, ident)
	}
	return false
}

// check returns what identifies an element, how to name it in a warning, and
// why it cannot be offered.
func (l *lister) check(raw []byte, stateless bool) (ident, shown, problem string) {
	shown = l.kind.one + " " + strconv.Itoa(l.seen)
	if rawjson.Kind(raw) != '{' {
		return "", shown, "it is not an object"
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return "", shown, "it is not JSON"
	}
	ident, ok := o.String(l.kind.ident)
	if !ok || ident == "" {
		return "", shown, "it has no " + l.kind.ident
	}
	shown = l.kind.one + " " + strconv.Quote(Excerpt([]byte(ident)))
	if !rawjson.IsExact(o.Get(l.kind.ident)) {
		return ident, shown, "its " + l.kind.ident + " holds half of a surrogate pair and cannot be sent back"
	}
	if l.known[ident] {
		return ident, shown, "another " + l.kind.one + " has the same " + l.kind.ident
	}
	if problem := l.kind.refuse(raw, o, ident, stateless); problem != "" {
		return ident, shown, problem
	}
	l.known[ident] = true
	return ident, shown, ""
}

func (l *lister) warn(format string, args ...any) {
	switch len(l.warnings) {
	case MaxWarnings:
	case MaxWarnings - 1:
		l.warnings = append(l.warnings, "there are further warnings, which are not shown")
	default:
		l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
	}
}
