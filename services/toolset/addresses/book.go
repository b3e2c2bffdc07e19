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
	single  bool           // at most one server has resources
	first   string         // alias of the server with resources that has been one longest, or ""
	aliases map[string]int // of the project's servers and claims, with the rank of the oldest claim

	uris       map[string]*claim   // oldest claim of each URI
	beginnings map[string][]*claim // templates and prefixes by literal beginning, oldest first
	lengths    []int               // of the literal beginnings, ascending
	templates  map[string]*claim   // oldest claim of each template
	keepers    map[key]string      // by claim; the server that keeps the text without an alias
	addresses  map[key]bool        // claims whose text reads as an address of the same server for another text
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
	named    string // alias in a text of the form of an address, or ""
	keeper   string // the server of an older claim that overlaps, or ""
}

// covers reports whether a template or prefix includes a URI.
func (c *claim) covers(uri string) bool {
	if c.kind == models.ClaimPrefix {
		return strings.HasPrefix(uri, c.text)
	}
	return c.template.matches(uri)
}

// beginning returns the text that all URIs of a claim start with.
func (c *claim) beginning() string {
	if c.kind == models.ClaimTemplate {
		return c.template.beginning()
	}
	return c.text
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
		aliases: map[string]int{}, uris: map[string]*claim{}, beginnings: map[string][]*claim{},
		templates: map[string]*claim{}, keepers: make(map[key]string, len(claims)), addresses: map[key]bool{},
	}
	withResources := map[string]bool{}
	ranked := rank(claims)
	for _, c := range ranked {
		if _, known := b.aliases[c.alias]; !known {
			b.aliases[c.alias] = c.rank
		}
		withResources[c.alias] = true
		if b.first == "" && c.kind != models.ClaimPrefix {
			b.first = c.alias
		}
		b.add(c)
	}
	for _, s := range servers {
		alias := Fold(s.Alias)
		if _, known := b.aliases[alias]; !known {
			b.aliases[alias] = len(claims) // newer than all claims
		}
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
		c.named, _, _ = Decode(c.beginning())
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
			if route := b.Route(c.text); route != (Route{c.alias, c.text, true}) {
				c.keeper = route.Alias
				if route.Alias == c.alias {
					b.addresses[c.key] = true
				}
			}
			b.excludeFitting(c)
		} else if oldest, known := b.aliases[c.named]; known && c.rank >= oldest && c.named != c.alias {
			c.keeper = c.named
		}
	}
	for _, c := range ranked {
		b.keepers[c.key] = cmp.Or(c.keeper, c.alias)
	}
}

// excludeFitting marks the newer templates and prefixes of other servers that
// include a claimed URI.
func (b *Book) excludeFitting(c *claim) {
	for beginning := range b.beginningsOf(c.text) {
		for _, p := range b.beginnings[beginning] {
			if p.rank > c.rank && p.alias != c.alias && p.keeper == "" && p.covers(c.text) {
				p.keeper = c.alias
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

// oldest returns the oldest claim that includes a URI, or nil. If named is set,
// it returns the oldest in the form of an address of that alias.
func (b *Book) oldest(uri, named string) *claim {
	found := b.uris[uri]
	for beginning := range b.beginningsOf(uri) {
		for _, p := range b.beginnings[beginning] {
			if found != nil && found.rank < p.rank {
				break
			}
			if (named == "" || p.named == named) && p.covers(uri) {
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

// Route returns the server of a URI: the one that a qualified address names,
// otherwise the oldest that claims it, otherwise the first with resources. A
// claim of a text in the form of an address is only valid if it is of the named
// server, for example another gateway, or older than all of that server's.
func (b *Book) Route(uri string) Route {
	if b == nil {
		return Route{Text: uri}
	}
	alias, own, _ := Decode(uri)
	oldest, known := b.aliases[alias]
	if !known {
		alias = ""
	}
	c := b.oldest(uri, alias)
	switch {
	case known && (c == nil || c.alias != alias && c.rank >= oldest):
		return Route{alias, own, true}
	case c != nil:
		return Route{c.alias, uri, true}
	}
	return Route{Alias: b.first, Text: uri}
}

// RouteTemplate returns the server of a URI template. A text that is not a
// template is routed like a URI.
func (b *Book) RouteTemplate(text string) Route {
	if b != nil {
		if c := b.templates[text]; c != nil {
			if oldest, known := b.aliases[c.named]; !known || c.rank < oldest || c.named == c.alias {
				return Route{c.alias, text, true}
			}
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
	if b.Single() || b.Keeper(alias, kind, text) == Fold(alias) && !b.addresses[key{Fold(alias), kind, text}] {
		return text, true
	}
	return b.qualify(alias, text)
}

// qualify returns the address of a server's text. If another server claimed a
// text like it first, the plus sign is percent-encoded. ok is false if there is
// no address.
func (b *Book) qualify(alias, text string) (address string, ok bool) {
	if address, ok = Qualify(alias, text); !ok {
		return "", false
	}
	want := Route{Fold(alias), text, true}
	if b.Route(address) == want {
		return address, true
	}
	address = strings.Replace(address, begin+plus, begin+encodedPlus, 1)
	return address, b.Route(address) == want
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
	if address, ok := b.qualify(alias, uri); ok {
		return address
	}
	return uri
}

// Keeper returns the alias, in lower case, of the server that keeps a server's
// text without an alias: the server itself, or one that showed an overlapping
// text first. It is empty for a text that the server did not claim.
func (b *Book) Keeper(alias string, kind models.ClaimKind, text string) string {
	if b == nil {
		return ""
	}
	return b.keepers[key{Fold(alias), kind, text}]
}
