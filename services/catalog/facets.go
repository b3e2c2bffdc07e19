package catalog

import (
	"cmp"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/query"
)

// Limits of facets.
const (
	facetTags       = 30
	facetPublishers = 20
)

// Facets are the counts of the entries that match a query.
type Facets struct {
	Total      int
	Verified   int
	Featured   int
	Remote     int
	Works      int // that work with this gateway
	Local      int
	Here       int     // that a computer can run
	SignIn     []Count // all of the values of SignIn, including those with no entries
	Transports []Count // all of them, including those with no entries
	Tags       []Count // the 30 most frequent
	Publishers []Count // the 20 with the most entries
}

// Count is the number of entries with a value. Value is the form for the
// qualifier, Title the form for display.
type Count struct {
	Value string
	Title string
	Count int
}

// Facets returns the counts of the entries that match a query and a filter, or of
// those that Browse lists instead, or a fault of the query grammar. Equally frequent values are in alphabetical order.
func (c *Catalog) Facets(text string, filter Filter) (*Facets, error) {
	parsed, err := query.Registry().Parse(text)
	if err != nil {
		return nil, err
	}
	s := c.current.Load()
	f := &Facets{}
	transports, tags, publishers := map[string]int{}, map[string]int{}, map[string]int{}
	titles, signIn := map[string]string{}, map[string]int{}
	s.each(parsed, filter, func(e *models.CatalogEntry, runs bool) {
		f.Total++
		f.Remote += one(Remote(e))
		f.Works += one(filter.works(e, runs))
		f.Local += one(!Remote(e))
		f.Here += one(runs)
		signIn[SignIn(e)]++
		f.Verified += one(e.Verified)
		f.Featured += one(e.Featured)
		transports[e.ServerType]++
		for _, tag := range e.Tags {
			tags[tag]++
		}
		publishers[e.PublisherName]++
		titles[e.PublisherName] = e.PublisherTitle
	})
	for _, t := range []Count{{Value: "http", Title: "HTTP"}, {Value: "sse", Title: "SSE"}, {Value: "stdio", Title: "stdio"}} {
		t.Count = transports[t.Value]
		f.Transports = append(f.Transports, t)
	}
	for _, value := range []string{SignInNone, SignInKey, SignInOAuth, SignInUnknown} {
		f.SignIn = append(f.SignIn, Count{Value: value, Count: signIn[value]})
	}
	f.Tags = most(tags, nil, facetTags)
	f.Publishers = most(publishers, titles, facetPublishers)
	return f, nil
}

// each calls count with the entries of a query and a filter, and whether a computer
// can run them: those that match the query, or the closest ones if none does.
func (s *snapshot) each(parsed *query.Query, filter Filter, count func(e *models.CatalogEntry, runs bool)) {
	matched := false
	s.entryIndex.Each(parsed, func(row uint32) {
		matched = true
		if e := s.entries[row]; filter.selects(e, s.runs[row]) {
			count(e, s.runs[row])
		}
	})
	if matched {
		return
	}
	for _, e := range s.closest(parsed, filter) {
		count(e, e.RunsHere())
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// most returns the most frequent values, at most n.
func most(counts map[string]int, titles map[string]string, n int) []Count {
	all := make([]Count, 0, len(counts))
	for value, count := range counts {
		all = append(all, Count{Value: value, Title: cmp.Or(titles[value], value), Count: count})
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Value, b.Value))
	})
	return slices.Clone(all[:min(n, len(all))])
}
