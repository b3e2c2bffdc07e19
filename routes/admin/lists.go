package admin

import (
	"net/url"
	"strings"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
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

// MaxShown is the maximum number of people, groups or grants on a page, and of the
// options of a form. A search finds the others.
const MaxShown = 100

// PersonByEmail returns the enabled user with an email address, ignoring case, or
// a fault that names the address.
func PersonByEmail(people []access.User, email string) (access.User, error) {
	for _, p := range people {
		if p.Email != "" && strings.EqualFold(p.Email, strings.TrimSpace(email)) && p.DisabledAt == nil {
			return p, nil
		}
	}
	return access.User{}, fault.Invalid("No one who can sign in has the email address %q.", email)
}

// Mentions reports whether text contains query, ignoring case.
func Mentions(text, query string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(query))
}
