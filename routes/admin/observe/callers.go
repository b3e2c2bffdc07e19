package observe

import (
	"context"
	"strings"

	"mcpgateway/services/access/keys"

	"mcpgateway/services/access"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity/usage"
	"mcpgateway/services/query"
)

// Formats of principals in the call log (access.Principal.ID).
const (
	principalAnonymous = "anonymous"
	principalKey       = "key:"
	principalUser      = "user:"
)

// Callers resolves principals to names and caches them for one response or one
// stream. It is not safe for concurrent use.
type Callers struct {
	keys   *keys.Store
	people *access.Users
	known  map[string]string
}

// maxCallers is the maximum number of cached names.
const maxCallers = 1000

// NewCallers returns an empty cache over the stores.
func NewCallers(keys *keys.Store, people *access.Users) *Callers {
	return &Callers{keys: keys, people: people, known: map[string]string{}}
}

// Of returns the name of a principal: the name and prefix of a key, or the email
// address of a user, for maintainers the name.
func (n *Callers) Of(ctx context.Context, principal string) string {
	name, ok := n.known[principal]
	if !ok {
		name = n.find(ctx, principal)
		if len(n.known) < maxCallers {
			n.known[principal] = name
		}
	}
	return name
}

func (n *Callers) find(ctx context.Context, principal string) string {
	if id, ok := strings.CutPrefix(principal, principalKey); ok {
		key, err := n.keys.Get(ctx, id)
		switch {
		case err != nil:
			return "Deleted key"
		case key.Name == "":
			return key.Prefix + "…"
		}
		return key.Name + " (" + key.Prefix + "…)"
	}
	if id, ok := strings.CutPrefix(principal, principalUser); ok {
		person, err := n.people.Get(ctx, id)
		if err != nil {
			return "Deleted person"
		}
		return reach.Of(ctx).Call(person.ID, person.Name, person.Called())
	}
	if principal == principalAnonymous {
		return "Anyone"
	}
	return principal
}

// principalsOf returns the principals that match a word of a query: keys of the
// project by name, prefix or id, and users by email address, name or id. Those of
// maintainers match no email address.
func principalsOf(ctx context.Context, keys *keys.Store, people *access.Users, projectID, word string) ([]string, error) {
	folded := query.Fold(strings.TrimSuffix(word, "…"))
	if folded == "anyone" || folded == principalAnonymous {
		return []string{principalAnonymous}, nil
	}
	if strings.HasPrefix(word, principalKey) || strings.HasPrefix(word, principalUser) {
		return []string{word}, nil
	}
	var found []string
	rows, err := keys.List(ctx, projectID)
	if err != nil {
		return nil, err
	}
	for _, key := range rows {
		if query.Fold(key.Name) == folded || query.Fold(key.Prefix) == folded || key.ID == word {
			found = append(found, principalKey+key.ID)
		}
	}
	users, err := people.List(ctx)
	if err != nil {
		return nil, err
	}
	mine := reach.Of(ctx)
	for _, person := range users {
		called := query.Fold(mine.Call(person.ID, person.Name, person.Email)) == folded
		if called || mine.SeesAll() && query.Fold(person.Name) == folded || person.ID == word {
			found = append(found, principalUser+person.ID)
		}
	}
	return found, nil
}

// UsageNames returns the names for one export or page of numbers.
func UsageNames(keys *keys.Store, people *access.Users) usage.Names {
	callers := NewCallers(keys, people)
	return usage.Names{
		Caller: callers.Of,
		Person: func(ctx context.Context, userID string) string { return callers.Of(ctx, principalUser+userID) },
	}
}
