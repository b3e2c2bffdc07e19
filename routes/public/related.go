package public

import (
	"cmp"
	"slices"

	"mcpgateway/models"
	"mcpgateway/views/public"
)

// maxRelated is the maximum number of related servers on a page.
const maxRelated = 6

// related returns the servers most like an entry: those that share its rarest
// tags, and those of its publisher. Equal ones are in list order.
func (r *Registry) related(e *models.CatalogEntry) []public.CatalogEntry {
	type candidate struct {
		*models.CatalogEntry
		score float64
	}
	all := r.Catalog.AllEntries()
	weight := map[string]float64{}
	for _, tag := range e.Tags {
		rows := 0
		for _, other := range all {
			if slices.Contains(other.Tags, tag) {
				rows++
			}
		}
		weight[tag] = 1 / float64(max(rows, 1))
	}
	var found []candidate
	for _, other := range all {
		c := candidate{CatalogEntry: other}
		for _, tag := range other.Tags {
			c.score += weight[tag]
		}
		if other.PublisherName == e.PublisherName {
			c.score += samePublisher
		}
		if other.ID != e.ID && other.Status == models.CatalogActive && c.score > 0 {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	var list []public.CatalogEntry
	for _, c := range found[:min(maxRelated, len(found))] {
		list = append(list, public.CatalogEntry{CatalogEntry: c.CatalogEntry})
	}
	return list
}

// samePublisher is the score of an entry of the same publisher. It equals that
// of a tag that 10 entries have.
const samePublisher = 0.1
