package toolset

import (
	"cmp"
	"slices"
	"sync"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset/addresses"
)

// Prompt is an upstream prompt with its exported name.
type Prompt struct {
	Name     string // as listed; shortened if the project limits names
	FullName string // always alias__prompt
	Upstream string
	Server   *Server
}

// offer is a prompt, resource, resource template or skill of a server.
type offer struct {
	kind       models.ListingKind
	ident      string
	definition []byte // with the server's own URIs
}

// addOffers adds the stored listings of a server, unless it is disabled or undeclared.
func (p *serverPart) addOffers(s settings, rows []models.Listing) {
	if !p.server.Config.IsOffered() {
		return
	}
	p.open = true
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b models.Listing) int { return cmp.Compare(a.Position, b.Position) })
	p.prompts = map[string]*Prompt{}
	for _, row := range rows {
		o := offer{kind: row.Kind, ident: row.Ident, definition: []byte(row.Definition)}
		if row.Kind == models.ListingPrompt {
			object, err := rawjson.ParseObject(o.definition, rawjson.Lenient)
			if err != nil {
				continue // syncs store only valid objects
			}
			full := JoinName(p.server.Config.Alias, row.Ident)
			prompt := &Prompt{Name: ShortenName(full, s.nameLimit), FullName: full, Upstream: row.Ident, Server: p.server}
			p.prompts[prompt.FullName], p.prompts[prompt.Name] = prompt, prompt
			o.definition = exportDefinition(object, prompt.Name)
		}
		p.offers = append(p.offers, o)
	}
}

// Offers are the prompts, resources, templates and skills of a project's servers. A URI
// that overlaps with that of another server has the alias of its server.
type Offers struct {
	parts  *parts
	naming bareNaming
	book   *addresses.Book
	whole  bool // of a whole project, not of a view
	merged func() *mergedOffers
}

// mergedOffers are the merged offers of all servers.
type mergedOffers struct {
	prompts map[string]*Prompt // those listed without alias, by that name

	pages map[models.ListingKind][][]byte
	ids   map[models.ListingKind]string
}

// newOffers returns the offers of the parts. They are merged on first use.
func newOffers(p *parts, naming bareNaming, book *addresses.Book, whole bool) *Offers {
	return &Offers{parts: p, naming: naming, book: book, whole: whole, merged: sync.OnceValue(func() *mergedOffers { return mergeOffers(p, naming, book) })}
}

// mergeOffers merges the offers of the parts, by alias and then in upstream
// order.
func mergeOffers(all *parts, naming bareNaming, book *addresses.Book) *mergedOffers {
	m := &mergedOffers{prompts: barePrompts(all, naming), pages: map[models.ListingKind][][]byte{}, ids: map[models.ListingKind]string{}}
	shown := map[models.ListingKind][][]byte{}
	for _, p := range all.ordered {
		for _, o := range p.offers {
			definition := o.shown(p.server.Config.Alias, book)
			if name := naming.name(o.ident); o.kind == models.ListingPrompt && m.prompts[name] == p.prompt(o.ident) {
				definition = renamed(definition, name)
			}
			if definition != nil {
				shown[o.kind] = append(shown[o.kind], definition)
			}
		}
	}
	for _, kind := range []models.ListingKind{models.ListingPrompt, models.ListingResource, models.ListingTemplate, models.ListingSkill} {
		m.pages[kind] = buildPages(shown[kind], func(definition []byte) []byte { return definition })
		m.ids[kind] = listID(m.pages[kind])
	}
	return m
}

// shown returns the definition as listed, or nil if it can't be listed.
func (o *offer) shown(alias string, book *addresses.Book) []byte {
	kind, member := models.ClaimURI, "uri"
	switch o.kind {
	case models.ListingResource:
	case models.ListingTemplate:
		kind, member = models.ClaimTemplate, "uriTemplate"
	case models.ListingSkill:
		return book.Skill(alias, o.ident, o.definition)
	default:
		return o.definition
	}
	text, ok := book.Listed(alias, kind, o.ident)
	switch {
	case !ok:
		return nil
	case text == o.ident:
		return o.definition
	}
	object, err := rawjson.ParseObject(o.definition, rawjson.Lenient)
	if err != nil {
		return nil // syncs store only valid objects
	}
	object.Set(member, rawjson.Quote(text))
	return object.Bytes()
}

// Of returns the numbers of prompts and of resources, templates and skills
// included, that the server with an alias has.
func (o *Offers) Of(alias string) (prompts, resources int) {
	p := o.parts.byAlias[alias]
	if p == nil {
		return 0, 0
	}
	for _, offer := range p.offers {
		switch {
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

// Resource is a resource or template of a server.
type Resource struct {
	Server *Server
	URI    string // as the server has it
}

// Resource returns the resource with a URI that clients use. It returns
// RESOURCE_NOT_FOUND if no server has it, if its server is off, and if the view
// doesn't include it.
func (o *Offers) Resource(uri string) (Resource, error) { return o.at(o.book.Route(uri), uri) }

// Template returns the template that clients refer to, otherwise the resource
// with the same text as its URI. It returns NOT_FOUND if there is none, and
// RESOURCE_NOT_FOUND if its server is off.
func (o *Offers) Template(text string) (Resource, error) {
	found, err := o.at(o.book.RouteTemplate(text), text)
	if f := fault.From(err); err != nil && f.Fields["server"] == "" {
		return found, fault.NotFound("resource", clip(text, 256))
	}
	return found, err
}

// at returns the resource of a route.
func (o *Offers) at(route addresses.Route, asked string) (Resource, error) {
	p := o.parts.byHost[route.Alias]
	switch {
	case p != nil && p.reads(route.Text):
		return Resource{p.server, route.Text}, nil
	case route.Alias != "" && (p == nil && o.whole || p != nil && !p.server.Config.IsOffered()):
		f := fault.New(fault.KindNotFound, fault.CodeResourceNotFound, "The resource %q belongs to server %s, which is disabled or was removed.", clip(asked, 256), route.Alias)
		f.Fields = map[string]string{"uri": asked, "server": route.Alias}
		return Resource{}, f
	}
	f := fault.New(fault.KindNotFound, fault.CodeResourceNotFound, "%s", fault.NotFound("resource", clip(asked, 256)).Message)
	f.Fields = map[string]string{"uri": asked}
	return Resource{}, f
}

// reads reports whether the part includes a URI of the server: any if it has the
// server's resources, otherwise those of its tools' user interfaces.
func (p *serverPart) reads(uri string) bool {
	return p.open || slices.ContainsFunc(p.shown, func(t *Tool) bool { return slices.Contains(t.App.URIs, uri) })
}
