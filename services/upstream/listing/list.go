// Package listing collects the pages of an upstream's list. It omits elements
// that cannot be offered and adds a warning for each.
package listing

import (
	"fmt"
	"strconv"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/capabilities"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// Limits of one list. Sizes are in bytes.
const (
	// maxListed is the maximum number of tools, prompts, resources or resource
	// templates of one server, and maxSkills that of skills. Further ones are
	// omitted.
	maxListed = 5_000
	maxSkills = 1_000
	// maxListPages is the maximum number of pages of one list.
	maxListPages = 500
	// maxListBytes is the maximum size of all definitions of one list, and
	// maxSkillBytes that of a list of skills.
	maxListBytes  = 32 << 20
	maxSkillBytes = 4 << 20
	// maxSkillFiles is the maximum number of files of a skill (SEP-2640).
	maxSkillFiles = 512
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
	Extension      string // required extension, or empty
	ident          string // the identifying member of an element
	one, Many      string // for messages, such as "resource templates"
	most, bytes    int    // maximum number of elements, and of bytes of all
	// refuse returns why an element cannot be offered, or "".
	refuse func(raw []byte, o *rawjson.Object, ident string, stateless bool) string
}

// Tools returns the kind of tools.
func Tools() Kind {
	return Kind{Method: "tools/list", Member: "tools", ident: "name", one: "tool", Many: "tools", most: maxListed, bytes: maxListBytes, refuse: refuseTool}
}

// Offers returns the kind of prompts, resources, resource templates or skills.
func Offers(kind models.ListingKind) Kind {
	k := Kind{Capability: "resources", most: maxListed, bytes: maxListBytes, refuse: refuseOffer}
	switch kind {
	case models.ListingPrompt:
		k.Method, k.Member, k.Capability, k.ident, k.one, k.Many = "prompts/list", "prompts", "prompts", "name", "prompt", "prompts"
	case models.ListingTemplate:
		k.Method, k.Member, k.ident, k.one, k.Many = "resources/templates/list", "resourceTemplates", "uriTemplate", "resource template", "resource templates"
	case models.ListingSkill:
		k.Method, k.Member, k.ident, k.one, k.Many = "skills/list", "skills", "uri", "skill", "skills"
		k.Extension, k.most, k.bytes, k.refuse = capabilities.Skills, maxSkills, maxSkillBytes, refuseSkill
	default:
		k.Method, k.Member, k.ident, k.one, k.Many = "resources/list", "resources", "uri", "resource", "resources"
	}
	return k
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

// refuseSkill returns why a skill cannot be offered, or "".
func refuseSkill(raw []byte, o *rawjson.Object, ident string, stateless bool) string {
	if files := o.Get("resources"); rawjson.Kind(files) == '[' {
		all, err := rawjson.Elements(files, rawjson.Lenient)
		switch {
		case err != nil:
			return "its resources are not valid JSON"
		case len(all) > maxSkillFiles:
			return fmt.Sprintf("it has more than %d files", maxSkillFiles)
		}
	}
	return refuseOffer(raw, o, ident, stateless)
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
		if len(l.Items) == l.Kind.most {
			l.warn("there are more than %d %s; the rest was omitted", l.Kind.most, l.Kind.Many)
			return true
		}
		if l.size += len(raw); l.size > l.Kind.bytes {
			l.warn("the definitions of the %s are larger than %d MiB; the rest was omitted", l.Kind.Many, l.Kind.bytes>>20)
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
