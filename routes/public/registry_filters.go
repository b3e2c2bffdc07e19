package public

import (
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/query"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
)

// Number of shown values per facet.
const (
	shownTags       = 12
	shownPublishers = 8
)

// narrow sets the chips and facets of a list.
func (r *Registry) narrow(props *public.RegistryProps, text string, found *catalog.Result[*models.CatalogEntry]) error {
	parsed, err := query.Registry().Parse(text)
	if err != nil || found == nil {
		return err
	}
	n := filterLinks{path: paths.Registry, clauses: parsed.Clauses}
	every, err := r.catalog.Facets(text)
	if err != nil {
		return err
	}
	// Values of one qualifier are alternatives, so they are counted without
	// that qualifier's clauses.
	among := map[string]*catalog.Facets{}
	for _, qualifier := range []string{"verified", "featured", "transport", "tag", "publisher"} {
		among[qualifier] = every
		if n.has(qualifier) {
			rest := &query.Query{Clauses: without(n.clauses, qualifier)}
			if among[qualifier], err = r.catalog.Facets(rest.Canonical()); err != nil {
				return err
			}
		}
	}
	props.Search.Chips = n.chips(among["verified"].Verified, among["featured"].Featured)
	props.Facets = []ui.Facet{
		n.facet("Transport", "transport", among["transport"].Transports, 3),
		n.facet("Tags", "tag", among["tag"].Tags, shownTags),
		n.facet("Publishers", "publisher", among["publisher"].Publishers, shownPublishers),
	}
	return nil
}

// chips returns the chips of the two marks of servers, and of other clauses of
// the query.
func (n filterLinks) chips(verified, featured int) []ui.Chip {
	var chips []ui.Chip
	for _, mark := range []struct {
		label, qualifier string
		count            int
	}{{"Verified", "verified", verified}, {"Featured", "featured", featured}} {
		link, on := n.only(mark.qualifier, "true")
		switch {
		case on:
			chips = append(chips, ui.Chip{Label: mark.label, URL: link, On: true})
		case mark.count > 0:
			chips = append(chips, ui.Chip{Label: mark.label, URL: link, Count: ui.Count(mark.count)})
		}
	}
	return append(chips, n.active(chips)...)
}

// facet returns a property with its most frequent values, including the ones in
// the query.
func (n filterLinks) facet(title, qualifier string, counts []catalog.Count, most int) ui.Facet {
	f := ui.Facet{Title: title}
	for _, v := range counts {
		link, on := n.toggle(qualifier, v.Value)
		if !on && (v.Count == 0 || len(f.Options) >= most) {
			continue
		}
		title := ui.Clean(v.Title)
		if qualifier == "transport" && v.Value == "stdio" {
			title = "Local (stdio)"
		}
		f.Options = append(f.Options, ui.FacetOption{Label: title, URL: link, Count: v.Count, On: on})
	}
	return f
}

// templatesWith returns the templates that refer to this entry by one of their
// server names.
func (r *Registry) templatesWith(e *models.CatalogEntry) []public.Template {
	const most = 6
	var with []*models.CatalogTemplate
	for _, t := range r.catalog.AllTemplates() {
		if len(with) == most {
			break
		}
		if slices.Contains(t.RelatedServerNames, e.ServerName) && slices.Contains(r.catalog.RelatedEntries(t), e) {
			with = append(with, t)
		}
	}
	return public.Templates(with)
}
