package toolset

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Prompt is one prompt of an upstream under its exported name.
type Prompt struct {
	Name     string // as listed; shortened when the project limits names
	FullName string // always alias__prompt
	Upstream string
	Server   *Server
}

// Offers are what the servers of a project offer besides tools. Resource URIs
// stay as they are, so a URI that two servers offer belongs to the first alias.
type Offers struct {
	prompts   map[string]*Prompt
	resources map[string]*Server // by URI
	templates []template
	shadowed  []string

	pages map[models.ListingKind][][]byte
	ids   map[models.ListingKind]string
}

type template struct {
	text    string
	matches *regexp.Regexp
	server  *Server
}

// buildOffers collects the offers of the enabled servers, by alias and then in
// upstream order.
func buildOffers(project models.Project, servers []*Server, listings map[string][]models.Listing) *Offers {
	o := &Offers{
		prompts: map[string]*Prompt{}, resources: map[string]*Server{},
		pages: map[models.ListingKind][][]byte{}, ids: map[models.ListingKind]string{},
	}
	shown := map[models.ListingKind][][]byte{}
	seenTemplates := map[string]bool{}
	for _, server := range servers {
		if !server.Config.Enabled {
			continue
		}
		rows := slices.Clone(listings[server.Config.ID])
		slices.SortStableFunc(rows, func(a, b models.Listing) int { return cmp.Compare(a.Position, b.Position) })
		for _, row := range rows {
			definition := []byte(row.Definition)
			switch row.Kind {
			case models.ListingPrompt:
				object, err := rawjson.ParseObject(definition, rawjson.Lenient)
				if err != nil {
					continue // a sync stores valid objects only
				}
				full := JoinName(server.Config.Alias, row.Ident)
				p := &Prompt{Name: ShortenName(full, project.ToolNameLimit), FullName: full, Upstream: row.Ident, Server: server}
				o.prompts[p.FullName], o.prompts[p.Name] = p, p
				definition = exportDefinition(object, p.Name)
			case models.ListingResource:
				if owner := o.resources[row.Ident]; owner != nil {
					o.shadowed = append(o.shadowed, fmt.Sprintf("%s offers %s, which %s answers", server.Config.Alias, clip(row.Ident, 200), owner.Config.Alias))
					continue
				}
				o.resources[row.Ident] = server
			case models.ListingTemplate:
				if seenTemplates[row.Ident] {
					o.shadowed = append(o.shadowed, fmt.Sprintf("%s offers the template %s too", server.Config.Alias, clip(row.Ident, 200)))
					continue
				}
				seenTemplates[row.Ident] = true
				o.templates = append(o.templates, template{text: row.Ident, matches: templatePattern(row.Ident), server: server})
			}
			shown[row.Kind] = append(shown[row.Kind], definition)
		}
	}
	for _, kind := range []models.ListingKind{models.ListingPrompt, models.ListingResource, models.ListingTemplate} {
		o.pages[kind] = buildPages(shown[kind], func(definition []byte) []byte { return definition })
		o.ids[kind] = listID(o.pages[kind])
	}
	return o
}

// Page returns the JSON array that is page n (from 0) of a kind, and whether
// another follows; ok is false when there is no such page.
func (o *Offers) Page(kind models.ListingKind, n int) (array []byte, more, ok bool) {
	return pageOf(o.pages[kind], n)
}

// ListID identifies the list of a kind by its content.
func (o *Offers) ListID(kind models.ListingKind) string { return o.ids[kind] }

// Shadowed tells of URIs that more than one server offers, for people.
func (o *Offers) Shadowed() []string { return o.shadowed }

// Prompt returns the prompt behind an exported name. It returns NOT_FOUND
// with a message that says what to write instead.
func (o *Offers) Prompt(name string) (*Prompt, error) {
	if p := o.prompts[name]; p != nil {
		return p, nil
	}
	if _, _, ok := SplitName(name); !ok {
		return nil, fault.New(fault.KindNotFound, fault.CodeNotFound, "there is no prompt %q: prompts are named alias__prompt", clip(name, 128))
	}
	return nil, fault.NotFound("prompt", clip(name, 128))
}

// ResourceOwner returns the server that answers for a URI: the one that lists
// it, else the first whose template it fits. It returns NOT_FOUND for others.
func (o *Offers) ResourceOwner(uri string) (*Server, error) {
	if server := o.resources[uri]; server != nil {
		return server, nil
	}
	for _, t := range o.templates {
		if t.matches.MatchString(uri) {
			return t.server, nil
		}
	}
	return nil, fault.NotFound("resource", clip(uri, 256))
}

// TemplateOwner returns the server that offers the template, or else the
// owner of the same text as a URI. It returns NOT_FOUND for others.
func (o *Offers) TemplateOwner(text string) (*Server, error) {
	for _, t := range o.templates {
		if t.text == text {
			return t.server, nil
		}
	}
	return o.ResourceOwner(text)
}

var expression = regexp.MustCompile(`\{[^{}]*\}`)

// templatePattern returns a pattern of the URIs that a template stands for
// (RFC 6570). Operators that can produce slashes match them; every other
// expression stays within its path segment.
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
