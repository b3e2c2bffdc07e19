package catalog

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

// Filter selects entries by what isn't part of the query language. The zero
// value selects all.
type Filter struct {
	Works    bool   // only servers that work with this gateway
	Programs bool   // whether local servers can run, so that those with a package work too
	Here     bool   // only servers that a computer can run with one of their packages
	SignIn   string // one of the values of SignIn, or ""
}

// The values of SignIn.
const (
	SignInNone    = "none"
	SignInKey     = "key"
	SignInOAuth   = "oauth"
	SignInUnknown = "unknown"
)

// SignIn returns how callers of a server authenticate.
func SignIn(e *models.CatalogEntry) string {
	switch {
	case e.AuthType == "oauth":
		return SignInOAuth
	case e.AuthType == "bearer", e.AuthType == "header", !Remote(e) && len(e.SecretEnv) > 0:
		return SignInKey
	case e.AuthType == "none":
		return SignInNone
	}
	return SignInUnknown
}

// Remote reports whether the gateway can connect to a server: it has an address
// and isn't a program that clients start.
func Remote(e *models.CatalogEntry) bool { return e.ServerType == "http" || e.ServerType == "sse" }

// selects reports whether a filter selects an entry. runs reports whether a
// computer can run it.
func (f Filter) selects(e *models.CatalogEntry, runs bool) bool {
	return (!f.Works || f.works(e, runs)) && (!f.Here || runs) && (f.SignIn == "" || SignIn(e) == f.SignIn)
}

// works reports whether an entry works with this gateway.
func (f Filter) works(e *models.CatalogEntry, runs bool) bool { return Remote(e) || f.Programs && runs }

// Sort is the order of a listing.
type Sort string

// The orders. SortDefault is by relevance with text; without text featured
// entries come first, the most used before the others, then verified ones. In it,
// servers that do not respond come after others of equal relevance.
const (
	SortDefault Sort = ""
	SortName    Sort = "name"
	SortNewest  Sort = "newest"
)

// View is a request for one part of the listing that the pages show.
type View struct {
	Text string // in the grammar of query.Registry
	Filter
	Sort   Sort
	Offset int // rows before the part
	Limit  int
}

// Listing is a part of the entries of a view.
type Listing struct {
	Rows     []*models.CatalogEntry // the caller must not modify them
	Closest  bool                   // no entry matches the query; Rows are the closest ones
	Total    int                    // entries of the view that match the query
	Local    int                    // entries that only Filter.Works leaves out
	Warnings []fault.Warning
}

// Browse returns a part of the entries that match a view, or a fault of the query
// grammar. If no entry matches, it returns those closest to the words of the query.
func (c *Catalog) Browse(v View) (*Listing, error) {
	parsed, err := query.Registry().Parse(v.Text)
	if err != nil {
		return nil, err
	}
	found := c.current.Load().browse(parsed, v)
	found.Warnings = warnings(parsed)
	return found, nil
}

func (s *snapshot) browse(parsed *query.Query, v View) *Listing {
	hits := s.entryIndex.FindAll(parsed, s.sinking)
	found := &Listing{}
	everywhere := v.Filter
	everywhere.Works = false
	rows := make([]*models.CatalogEntry, 0, len(hits))
	for _, hit := range hits {
		switch e := s.entries[hit]; {
		case v.selects(e, s.runs[hit]):
			rows = append(rows, e)
		case everywhere.selects(e, s.runs[hit]):
			found.Local++
		}
	}
	if len(hits) == 0 {
		return s.browseClosest(parsed, v)
	}
	switch v.Sort {
	case SortDefault:
		if len(parsed.Text()) == 0 {
			s.sortByUse(rows)
		}
	case SortName:
		slices.SortStableFunc(rows, func(a, b *models.CatalogEntry) int {
			return cmp.Or(strings.Compare(query.Fold(a.ServerTitle), query.Fold(b.ServerTitle)), strings.Compare(a.ID, b.ID))
		})
	case SortNewest:
		slices.SortStableFunc(rows, func(a, b *models.CatalogEntry) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	found.Total = len(rows)
	from := min(v.Offset, len(rows))
	found.Rows = rows[from:min(from+v.Limit, len(rows))]
	return found
}

// browseClosest returns the listing of a view without matches. Local is the number
// of close entries that only Filter.Works leaves out.
func (s *snapshot) browseClosest(parsed *query.Query, v View) *Listing {
	found := &Listing{Rows: s.closest(parsed, v.Filter)}
	everywhere := v.Filter
	everywhere.Works = false
	if v.Works {
		for _, e := range s.closest(parsed, everywhere) {
			found.Local += one(!v.works(e, e.RunsHere()))
		}
	}
	found.Closest = len(found.Rows)+found.Local > 0
	return found
}

// sortByUse orders the featured entries at the start of rows: those that an
// administrator featured, then by their rank.
func (s *snapshot) sortByUse(rows []*models.CatalogEntry) {
	rank := func(e *models.CatalogEntry) int64 {
		switch {
		case e.FeaturedBy != "":
			return 0
		case e.FeaturedRank > 0:
			return e.FeaturedRank
		}
		return math.MaxInt64
	}
	end := slices.IndexFunc(rows, func(e *models.CatalogEntry) bool { return !e.Featured || s.sinks(e.ID) })
	if end < 0 {
		end = len(rows)
	}
	slices.SortStableFunc(rows[:end], func(a, b *models.CatalogEntry) int { return cmp.Compare(rank(a), rank(b)) })
}
