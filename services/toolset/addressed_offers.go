package toolset

import (
	"mcpgateway/models"
	"mcpgateway/services/toolset/addresses"
)

// Addressed is a URI, a template or the root of a skill of a server that clients see with an alias,
// because another server showed an overlapping one first.
type Addressed struct {
	Own    string // as the server has it
	Shown  string // to clients; empty if it is left out
	Keeper string // alias of the other server, in lower case; empty if the project has too many addresses
}

// Addressed returns the URIs, templates and roots of skills of the server with an alias that are
// not shown as they are, in the order of its lists.
func (o *Offers) Addressed(alias string) (all []Addressed) {
	p := o.parts.byAlias[alias]
	if p == nil || o.book.Single() {
		return nil
	}
	seen := map[string]bool{}
	add := func(kind models.ClaimKind, text string) {
		if shown, _ := o.book.Listed(alias, kind, text); shown != text && !seen[text] {
			seen[text] = true
			all = append(all, Addressed{text, shown, o.book.Keeper(alias, kind, text)})
		}
	}
	for _, offer := range p.offers {
		switch offer.kind {
		case models.ListingResource:
			add(models.ClaimURI, offer.ident)
		case models.ListingTemplate:
			add(models.ClaimTemplate, offer.ident)
		case models.ListingSkill:
			add(models.ClaimPrefix, addresses.SkillRoot(offer.ident))
		}
	}
	for _, t := range p.shown {
		for _, uri := range addresses.UIs(t.Raw) {
			add(models.ClaimURI, uri)
		}
	}
	return all
}
