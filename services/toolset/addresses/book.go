package addresses

import (
	"cmp"
	"slices"
	"strings"

	"mcpgateway/models"
)

// MaxClaims is the maximum number of claims of a project. Further texts are
// always shown qualified.
const MaxClaims = 20_000

// Book resolves the addresses of a project by its claims. It is immutable. The
// nil Book is that of a project without resources.
type Book struct {
	single  bool            // at most one server has resources
	first   string          // alias of the server with resources that has been one longest, or ""
	aliases map[string]bool // of the project's servers and claims

	uris       map[string]*claim   // oldest claim of each URI
	beginnings map[string][]*claim // templates and prefixes by literal beginning, oldest first
	lengths    []int               // of the literal beginnings, ascending
	templates  map[string]*claim   // oldest claim of each template
	bare       map[key]bool        // claims that are shown without an alias
}

// key identifies a claim.
type key struct {
	alias string
	kind  models.ClaimKind
	text  string
}

type claim struct {
	key
	rank     int // lower is older
	template template
	lost     bool // an older claim of another server overlaps
}

// covers reports whether a template or prefix includes a URI.
func (c *claim) covers(uri string) bool {
	if c.kind == models.ClaimPrefix {
		return strings.HasPrefix(uri, c.text)
	}
	return c.template.matches(uri)
}

// beginning returns the text that all URIs of a template or prefix start with.
func (c *claim) beginning() string {
	if c.kind == models.ClaimPrefix {
		return c.text
	}
	return c.template.beginning()
}

// Server is a server of the project.
type Server struct {
	Alias     string
	Resources bool // whether it is enabled and has resources
}

// New returns the book of a project with these claims, in any order. servers are
// in the order of their aliases.
func New(claims []models.AddressClaim, servers []Server) *Book {
	b := &Book{
		aliases: map[string]bool{}, uris: map[string]*claim{}, beginnings: map[string][]*claim{},
		templates: map[string]*claim{}, bare: make(map[key]bool, len(claims)),
	}
	withResources := map[string]bool{}
	ranked := rank(claims)
	for _, c := range ranked {
		b.aliases[c.alias], withResources[c.alias] = true, true
		if b.first == "" && c.kind != models.ClaimPrefix {
			b.first = c.alias
		}
		b.add(c)
	}
	for _, s := range servers {
		alias := Fold(s.Alias)
		b.aliases[alias] = true
		if s.Resources {
			withResources[alias] = true
			b.first = cmp.Or(b.first, alias)
		}
	}
	b.single = len(withResources) <= 1 && len(claims) < MaxClaims
	b.finish(ranked)
	return b
}

// rank returns the claims, oldest first. Claims of one position are in the order
// of their aliases.
func rank(rows []models.AddressClaim) []*claim {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b models.AddressClaim) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Alias, b.Alias))
	})
	claims := make([]*claim, len(rows))
	for i, row := range rows {
		c := &claim{key: key{Fold(row.Alias), row.Kind, row.Text}, rank: i}
		if row.Kind == models.ClaimTemplate {
			c.template = parseTemplate(row.Text)
		}
		claims[i] = c
	}
	return claims
}

// add adds a claim that is newer than all others.
func (b *Book) add(c *claim) {
	switch c.kind {
	case models.ClaimURI:
		if b.uris[c.text] == nil {
			b.uris[c.text] = c
		}
		return
	case models.ClaimTemplate:
		if b.templates[c.text] == nil {
			b.templates[c.text] = c
		}
	}
	beginning := c.beginning()
	if b.beginnings[beginning] == nil {
		b.lengths = append(b.lengths, len(beginning))
	}
	b.beginnings[beginning] = append(b.beginnings[beginning], c)
}

// finish finds the claims that are shown without an alias.
func (b *Book) finish(ranked []*claim) {
	slices.Sort(b.lengths)
	b.lengths = slices.Compact(b.lengths)
	b.comparePatterns()
	for _, c := range ranked {
		if c.kind == models.ClaimURI {
			c.lost = b.oldest(c.text).alias != c.alias
			b.excludeFitting(c)
		}
	}
	for _, c := range ranked {
		b.bare[c.key] = !c.lost
	}
}

// excludeFitting marks the newer templates and prefixes of other servers that
// include a claimed URI.
func (b *Book) excludeFitting(c *claim) {
	for beginning := range b.beginningsOf(c.text) {
		for _, p := range b.beginnings[beginning] {
			if p.rank > c.rank && p.alias != c.alias && !p.lost && p.covers(c.text) {
				p.lost = true
			}
		}
	}
}

// beginningsOf yields the literal beginnings of claims that a URI starts with.
func (b *Book) beginningsOf(uri string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, n := range b.lengths {
			if n > len(uri) {
				return
			}
			if len(b.beginnings[uri[:n]]) > 0 && !yield(uri[:n]) {
				return
			}
		}
	}
}

// oldest returns the oldest claim that includes a URI, or nil.
func (b *Book) oldest(uri string) *claim {
	found := b.uris[uri]
	for beginning := range b.beginningsOf(uri) {
		for _, p := range b.beginnings[beginning] {
			if found != nil && found.rank < p.rank {
				break
			}
			if p.covers(uri) {
				found = p
				break
			}
		}
	}
	return found
}

// Route is the server that a text belongs to.
type Route struct {
	Alias string // in lower case; empty if no server has resources
	Text  string // the URI or template as its server has it
	// Claimed reports whether a server has shown the text, or the text names its
	// server.
	Claimed bool
}

// Route returns the server of a URI: the oldest that claims it, otherwise the
// one that a qualified address names, otherwise the first with resources.
func (b *Book) Route(uri string) Route {
	if b == nil {
		return Route{Text: uri}
	}
	if c := b.oldest(uri); c != nil {
		return Route{c.alias, uri, true}
	}
	if alias, own, ok := Decode(uri); ok && b.aliases[alias] {
		return Route{alias, own, true}
	}
	return Route{Alias: b.first, Text: uri}
}

// RouteTemplate returns the server of a URI template. A text that is not a
// template is routed like a URI.
func (b *Book) RouteTemplate(text string) Route {
	if b != nil {
		if c := b.templates[text]; c != nil {
			return Route{c.alias, text, true}
		}
	}
	return b.Route(text)
}

// Single reports whether at most one server of the project has resources. Then
// no address has an alias.
func (b *Book) Single() bool { return b == nil || b.single }

// Listed returns the text to show for a server's URI, template or prefix. ok is
// false if it overlaps with an older claim of another server and can't be
// qualified.
func (b *Book) Listed(alias string, kind models.ClaimKind, text string) (shown string, ok bool) {
	if b.Single() || b.bare[key{Fold(alias), kind, text}] {
		return text, true
	}
	return Qualify(alias, text)
}

// Shown returns the text to show for a URI in a result of a server. A URI that
// isn't routed to the server is qualified, except for links that no server
// claims.
func (b *Book) Shown(alias, uri string) string {
	if b.Single() {
		return uri
	}
	route := b.Route(uri)
	if route.Alias == Fold(alias) && route.Text == uri || !route.Claimed && isLink(uri) {
		return uri
	}
	if address, ok := Qualify(alias, uri); ok {
		return address
	}
	return uri
}

// Owner returns the alias of the server that answers for an unqualified text, in
// lower case, or "".
func (b *Book) Owner(kind models.ClaimKind, text string) string {
	if b == nil {
		return ""
	}
	if kind == models.ClaimTemplate {
		return b.RouteTemplate(text).Alias
	}
	return b.Route(text).Alias
}
