package toolset

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Prompt is an upstream prompt with its exported name.
type Prompt struct {
	Name     string // as listed; shortened if the project limits names
	FullName string // always alias__prompt
	Upstream string
	Server   *Server
}

// offer is a prompt, resource or resource template of a server.
type offer struct {
	kind       models.ListingKind
	ident      string
	definition []byte         // as listed
	matches    *regexp.Regexp // matches the URIs of a template
	unlisted   bool           // readable, but in no list
}

// addOffers adds the stored listings of a server, unless it is disabled.
func (p *serverPart) addOffers(s settings, rows []models.Listing) {
	if !p.server.Config.Enabled {
		return
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b models.Listing) int { return cmp.Compare(a.Position, b.Position) })
	p.prompts = map[string]*Prompt{}
	for _, row := range rows {
		o := offer{kind: row.Kind, ident: row.Ident, definition: []byte(row.Definition)}
		switch row.Kind {
		case models.ListingPrompt:
			object, err := rawjson.ParseObject(o.definition, rawjson.Lenient)
			if err != nil {
				continue // syncs store only valid objects
			}
			full := JoinName(p.server.Config.Alias, row.Ident)
			prompt := &Prompt{Name: ShortenName(full, s.nameLimit), FullName: full, Upstream: row.Ident, Server: p.server}
			p.prompts[prompt.FullName], p.prompts[prompt.Name] = prompt, prompt
			o.definition = exportDefinition(object, prompt.Name)
		case models.ListingTemplate:
			o.matches = templatePattern(row.Ident)
		}
		p.offers = append(p.offers, o)
	}
}

// Offers are the prompts, resources and templates of a project's servers. URIs
// are not changed, so a URI that two servers list belongs to the first alias.
type Offers struct {
	parts  *parts
	naming bareNaming
	merged func() *mergedOffers
}

// mergedOffers are the merged offers of all servers.
type mergedOffers struct {
	resources map[string]*Server // by URI
	templates []template
	shadowed  []string
	prompts   map[string]*Prompt // those listed without alias, by that name

	pages map[models.ListingKind][][]byte
	ids   map[models.ListingKind]string
}

type template struct {
	text    string
	matches *regexp.Regexp
	server  *Server
}

// newOffers returns the offers of the parts. They are merged on first use.
func newOffers(p *parts, naming bareNaming) *Offers {
	return &Offers{parts: p, naming: naming, merged: sync.OnceValue(func() *mergedOffers { return mergeOffers(p, naming) })}
}

// mergeOffers merges the offers of the parts, by alias and then in upstream
// order.
func mergeOffers(all *parts, naming bareNaming) *mergedOffers {
	m := &mergedOffers{
		resources: map[string]*Server{}, prompts: barePrompts(all, naming), pages: map[models.ListingKind][][]byte{}, ids: map[models.ListingKind]string{},
	}
	shown := map[models.ListingKind][][]byte{}
	seenTemplates := map[string]bool{}
	for _, p := range all.ordered {
		alias := p.server.Config.Alias
		for _, o := range p.offers {
			switch o.kind {
			case models.ListingPrompt:
				if name := naming.name(o.ident); m.prompts[name] == p.prompt(o.ident) {
					o.definition = renamed(o.definition, name)
				}
			case models.ListingResource:
				if owner := m.resources[o.ident]; owner != nil {
					m.shadowed = append(m.shadowed, fmt.Sprintf("%s also has %s, which is served by %s", alias, clip(o.ident, 200), owner.Config.Alias))
					continue
				}
				m.resources[o.ident] = p.server
			case models.ListingTemplate:
				if seenTemplates[o.ident] {
					m.shadowed = append(m.shadowed, fmt.Sprintf("%s also has the template %s", alias, clip(o.ident, 200)))
					continue
				}
				seenTemplates[o.ident] = true
				m.templates = append(m.templates, template{text: o.ident, matches: o.matches, server: p.server})
			}
			if !o.unlisted {
				shown[o.kind] = append(shown[o.kind], o.definition)
			}
		}
	}
	for _, kind := range []models.ListingKind{models.ListingPrompt, models.ListingResource, models.ListingTemplate} {
		m.pages[kind] = buildPages(shown[kind], func(definition []byte) []byte { return definition })
		m.ids[kind] = listID(m.pages[kind])
	}
	return m
}

// Of returns the numbers of prompts and of resources, templates included, that
// the server with an alias has.
func (o *Offers) Of(alias string) (prompts, resources int) {
	p := o.parts.byAlias[alias]
	if p == nil {
		return 0, 0
	}
	for _, offer := range p.offers {
		switch {
		case offer.unlisted:
		case offer.kind == models.ListingPrompt:
			prompts++
		default:
			resources++
		}
	}
	return prompts, resources
}

// Page returns page n (from 0) of a kind as a JSON array. more reports whether
// another page follows. ok is false if the page doesn't exist.
func (o *Offers) Page(kind models.ListingKind, n int) (array []byte, more, ok bool) {
	return pageOf(o.merged().pages[kind], n)
}

// ListID identifies the content of a kind's list.
func (o *Offers) ListID(kind models.ListingKind) string { return o.merged().ids[kind] }

// Shadowed describes URIs that more than one server has, for administrators.
func (o *Offers) Shadowed() []string { return o.merged().shadowed }

// Prompt returns the prompt with an exported name. It returns NOT_FOUND with a
// correction.
func (o *Offers) Prompt(name string) (*Prompt, error) {
	if p := lookUp(o.parts, name, promptsOf); p != nil {
		return p, nil
	}
	if o.naming.on {
		if p := o.merged().prompts[name]; p != nil {
			return p, nil
		}
	}
	if _, _, ok := SplitName(name); !ok {
		return nil, fault.New(fault.KindNotFound, fault.CodeNotFound, "There is no prompt %q. Prompts are named alias__prompt.", clip(name, 128))
	}
	return nil, fault.NotFound("prompt", clip(name, 128))
}

// Listed returns the definition of a resource in the list of its server, by the
// server's alias and its own URI. It is nil if the server doesn't list it.
func (o *Offers) Listed(alias, uri string) []byte {
	if p := o.parts.byAlias[alias]; p != nil {
		for _, offer := range p.offers {
			if offer.kind == models.ListingResource && offer.ident == uri {
				return offer.definition
			}
		}
	}
	return nil
}

// ResourceOwner returns the server of a URI: the one that lists it, otherwise
// the first with a matching template. It returns NOT_FOUND if there is none.
func (o *Offers) ResourceOwner(uri string) (*Server, error) {
	m := o.merged()
	if server := m.resources[uri]; server != nil {
		return server, nil
	}
	for _, t := range m.templates {
		if t.matches.MatchString(uri) {
			return t.server, nil
		}
	}
	return nil, fault.NotFound("resource", clip(uri, 256))
}

// TemplateOwner returns the server of a template, otherwise the owner of the
// same text as a URI. It returns NOT_FOUND if there is none.
func (o *Offers) TemplateOwner(text string) (*Server, error) {
	for _, t := range o.merged().templates {
		if t.text == text {
			return t.server, nil
		}
	}
	return o.ResourceOwner(text)
}

var expression = regexp.MustCompile(`\{[^{}]*\}`)

// templatePattern returns a pattern of a template's URIs (RFC 6570). Operators
// that can produce slashes match them. Other expressions match within a path
// segment.
func templatePattern(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	rest := text
	for {
		at := expression.FindStringIndex(rest)
		if at == nil {
			break
		}
		b.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		switch inner := rest[at[0]+1 : at[1]-1]; {
		case inner != "" && strings.ContainsRune("+#/", rune(inner[0])), strings.HasSuffix(inner, "*"):
			b.WriteString(`.*`)
		default:
			b.WriteString(`[^/]*`)
		}
		rest = rest[at[1]:]
	}
	b.WriteString(regexp.QuoteMeta(rest))
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}
