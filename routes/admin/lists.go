package admin

import (
	"net/url"
	"strings"

	views "mcpgateway/views/admin"
	"mcpgateway/views/ui"
)

// StateChips returns chips that filter the list at path by state. States without
// rows are omitted, except the chosen one, whose chip clears the filter. counts
// is the number of rows of each kind.
func StateChips[S views.ServerState | views.ConnectionState](path string, states []S, query, chosen string, counts map[string]int) []ui.Chip {
	link := func(kind string) string {
		values := url.Values{}
		if query != "" {
			values.Set("query", query)
		}
		if kind != "" {
			values.Set("state", kind)
		}
		if len(values) == 0 {
			return path
		}
		return path + "?" + values.Encode()
	}
	var chips []ui.Chip
	for _, state := range states {
		s := views.ServerState(state) // both types have the same fields
		switch {
		case s.Kind == chosen:
			chips = append(chips, ui.Chip{Label: s.Word, Count: ui.Count(counts[s.Kind]), On: true, URL: link("")})
		case counts[s.Kind] > 0:
			chips = append(chips, ui.Chip{Label: s.Word, Count: ui.Count(counts[s.Kind]), URL: link(s.Kind)})
		}
	}
	return chips
}

// Mentions reports whether text contains query, ignoring case.
func Mentions(text, query string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(query))
}
