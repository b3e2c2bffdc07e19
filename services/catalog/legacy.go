package catalog

import (
	"slices"
	"unicode/utf8"

	"mcpgateway/models"
	"mcpgateway/services/query"
)

// Legacy is a search of the registry with parameters instead of a query (spec,
// "Legacy parameter mode"). Empty strings and nil don't filter.
type Legacy struct {
	Search       string // SQL LIKE over server and publisher titles: % and _ are wildcards, \ escapes them
	Publisher    string // publisherName
	Type         string // serverType
	Tag          string
	Verified     *bool
	Featured     *bool
	RequireTools bool // only entries with known tools
	Limit        int
	Offset       int
}

// Legacy returns at most limit rows of a legacy search in list order, starting
// at the offset.
func (c *Catalog) Legacy(l Legacy) []*models.CatalogEntry {
	s := c.current.Load()
	like := newPattern(query.Fold(l.Search))
	publisher, tag, transport := query.Fold(l.Publisher), query.Fold(l.Tag), query.Fold(l.Type)
	found := make([]*models.CatalogEntry, 0, min(l.Limit, len(s.entries)))
	skip := l.Offset
	for i, e := range s.entries {
		switch {
		case l.Verified != nil && e.Verified != *l.Verified,
			l.Featured != nil && e.Featured != *l.Featured,
			l.RequireTools && len(e.ToolNames) == 0,
			transport != "" && e.ServerType != transport,
			publisher != "" && query.Fold(e.PublisherName) != publisher,
			tag != "" && !slices.ContainsFunc(e.Tags, func(t string) bool { return query.Fold(t) == tag }),
			!like.isIn(s.entryIndex.Title(i)) && !like.isIn(s.entryIndex.FirstName(i)):
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if len(found) == l.Limit {
			break
		}
		found = append(found, e)
	}
	return found
}

// pattern is a folded LIKE pattern that matches anywhere in a text, split at
// its % signs. The parts must occur in order.
type pattern [][]patternRune

// patternRune is one character of a pattern, or a wildcard for one.
type patternRune struct {
	char rune
	any  bool
}

// newPattern parses a pattern. A trailing \ is literal.
func newPattern(text string) pattern {
	var p pattern
	var part []patternRune
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			part, escaped = append(part, patternRune{char: r}), false
		case r == '\\':
			escaped = true
		case r == '%':
			p, part = p.with(part), nil
		case r == '_':
			part = append(part, patternRune{any: true})
		default:
			part = append(part, patternRune{char: r})
		}
	}
	if escaped {
		part = append(part, patternRune{char: '\\'})
	}
	return p.with(part)
}

func (p pattern) with(part []patternRune) pattern {
	if len(part) == 0 {
		return p
	}
	return append(p, part)
}

// isIn reports whether the text contains the pattern. Matching each part as
// early as possible is sufficient.
func (p pattern) isIn(text string) bool {
	for _, part := range p {
		rest, ok := behind(part, text)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// behind returns the text after the first match of a part.
func behind(part []patternRune, text string) (rest string, ok bool) {
	for start := text; start != ""; {
		if rest, ok := after(part, start); ok {
			return rest, true
		}
		_, size := utf8.DecodeRuneInString(start)
		start = start[size:]
	}
	return "", false
}

// after returns the text after a part at its start.
func after(part []patternRune, text string) (rest string, ok bool) {
	for _, want := range part {
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 || !want.any && r != want.char {
			return "", false
		}
		text = text[size:]
	}
	return text, true
}

// LegacyItem is an entry in the form of legacy searches, with more fields than
// EntryItem (contract, "Catalog query grammar").
type LegacyItem struct {
	EntryItem
	RemoteURL         *string  `json:"remoteUrl"`
	AuthType          string   `json:"authType"`
	PackageType       *string  `json:"packageType"`
	PackageIdentifier *string  `json:"packageIdentifier"`
	ToolNames         []string `json:"toolNames"`
}

// NewLegacyItem returns the item of an entry.
func NewLegacyItem(e *models.CatalogEntry) LegacyItem {
	return LegacyItem{
		EntryItem: NewEntryItem(e), RemoteURL: optional(e.RemoteURL), AuthType: e.AuthType,
		PackageType: optional(e.PackageType), PackageIdentifier: optional(e.PackageIdentifier), ToolNames: list(e.ToolNames),
	}
}
