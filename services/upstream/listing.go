package upstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// ListTools returns the raw tool definitions of an upstream in its order, what
// it says of itself, and warnings about tools that were left out: what is not
// an object with a name, names that come twice, tools that can only run as
// tasks, tools with header annotations that revision 2026-07-28 forbids, and
// what lies beyond 5,000 tools, 500 pages or 32 MiB. All pages together take
// at most the target's time-out. Faults are those of Call; an upstream without
// tools returns none.
func (p *Pool) ListTools(ctx context.Context, t *Target) ([][]byte, *Description, []string, error) {
	l := newLister(listKind{method: "tools/list", member: "tools", ident: "name", one: "tool", many: "tools", refuse: refuseTool})
	err := p.with(ctx, t, ownWork, "", func(ctx context.Context, s *server) error {
		s.expireDescription(maxDescriptionAge)
		return l.list(ctx, p, s, t)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return l.items, l.about, l.warnings, nil
}

// ListOffers returns the prompts, resources or resource templates of an
// upstream in its order, and warnings about what was left out: what is not an
// object with a name, uri or uriTemplate, those that come twice or cannot be
// stored, and what lies beyond the bounds of ListTools. An upstream whose
// capabilities do not name the feature is not asked and has none. All pages
// together take at most the target's time-out. Faults are those of Call.
func (p *Pool) ListOffers(ctx context.Context, t *Target, kind models.ListingKind) ([]models.Listing, []string, error) {
	l := newLister(offerKind(kind))
	err := p.with(ctx, t, ownWork, "", func(ctx context.Context, s *server) error {
		ss, err := s.acquire(ctx, t, own())
		if err != nil {
			return err
		}
		offered := hasCapability(ss.about, l.kind.capability)
		s.release(ss)
		if !offered {
			return nil
		}
		return l.list(ctx, p, s, t)
	})
	if err != nil {
		return nil, nil, err
	}
	listings := make([]models.Listing, len(l.items))
	for i, raw := range l.items {
		listings[i] = models.Listing{ServerID: t.ServerID, Kind: kind, Ident: l.idents[i], Position: i, Definition: string(raw)}
	}
	return listings, l.warnings, nil
}

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

// hasCapability reports whether an upstream says that it has a feature.
func hasCapability(d *Description, name string) bool {
	if d.Capabilities == nil {
		return false
	}
	o, err := rawjson.ParseObject(d.Capabilities, rawjson.Lenient)
	return err == nil && o.Get(name) != nil && rawjson.Kind(o.Get(name)) != 'n'
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
	seen    int // elements looked at, for messages
}

func newLister(kind listKind) *lister {
	return &lister{kind: kind, known: map[string]bool{}, cursors: map[string]bool{}}
}

func (l *lister) list(ctx context.Context, p *Pool, s *server, t *Target) error {
	var params []byte
	for page := 1; ; page++ {
		r, ss, err := p.call(ctx, s, t, own(), &Request{Method: l.kind.method, Params: params, Client: ownClient()})
		if err != nil {
			return err
		}
		l.about = ss.about
		if r.Error != nil {
			if page == 1 && errorCode(r.Error) == CodeMethodNotFound {
				return nil // it has none
			}
			return ss.place.invalid("failed to list its %s: %s", l.kind.many, errorText(r.Error))
		}
		o, err := rawjson.ParseObject(r.Result, rawjson.Lenient)
		if err != nil {
			return ss.place.invalid("sent a list of %s that is not JSON", l.kind.many).Because(err)
		}
		elements, err := rawjson.Elements(o.Get(l.kind.member), rawjson.Lenient)
		if err != nil {
			return ss.place.invalid("sent no list of %s: %s", l.kind.many, Excerpt(r.Result)).Because(err)
		}
		full := l.add(elements, r.Stateless)
		cursor, ok := nextCursor(o, r.Stateless)
		switch {
		case !ok || full:
			return nil
		case l.cursors[cursor]:
			l.warn("the list of %s repeats itself and was cut off after page %d", l.kind.many, page)
			return nil
		case page == maxListPages:
			l.warn("the list of %s has more than %d pages; the rest was left out", l.kind.many, maxListPages)
			return nil
		}
		l.cursors[cursor] = true
		params = append(append([]byte(`{"cursor":`), o.Get("nextCursor")...), '}')
	}
}

// nextCursor returns the raw cursor of the next page. The empty string is a cursor
// in revision 2026-07-28; before, upstreams use it for the end.
func nextCursor(o *rawjson.Object, stateless bool) (string, bool) {
	raw := o.Get("nextCursor")
	cursor, ok := rawjson.String(raw)
	return string(raw), ok && (cursor != "" || stateless)
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
