package observe

import (
	"context"
	"strings"

	"mcpgateway/services/access/keys"

	"mcpgateway/services/access"
	"mcpgateway/services/query"
)

// The forms of a principal in the log of calls (access.Principal.ID).
const (
	principalAnonymous = "anonymous"
	principalKey       = "key:"
	principalUser      = "user:"
)

// Callers find what people call those who called. They remember what they
// found, for one answer or one stream.
type Callers struct {
	keys   *keys.Store
	people *access.People
	known  map[string]string
}

// maxCallers bounds what one stream remembers.
const maxCallers = 1000

// NewCallers returns the names of keys and users, which it caches.
func NewCallers(keys *keys.Store, people *access.People) *Callers {
	return &Callers{keys: keys, people: people, known: map[string]string{}}
}

// Of returns a principal as the name of its key with the key's prefix, or as
// the person's e-mail address.
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
			return "a key that is gone"
		case key.Name == "":
			return key.Prefix + "…"
		}
		return key.Name + " (" + key.Prefix + "…)"
	}
	if id, ok := strings.CutPrefix(principal, principalUser); ok {
		person, err := n.people.Get(ctx, id)
		if err != nil {
			return "a person who is gone"
		}
		return person.Email
	}
	if principal == principalAnonymous {
		return "anyone"
	}
	return principal
}

// principalsOf returns the principals that a word of a query means: the keys of
// the project with this name, prefix or id, and the people with this e-mail
// address, name or id.
func principalsOf(ctx context.Context, keys *keys.Store, people *access.People, projectID, word string) ([]string, error) {
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
	everybody, err := people.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, person := range everybody {
		if query.Fold(person.Email) == folded || query.Fold(person.Name) == folded || person.ID == word {
			found = append(found, principalUser+person.ID)
		}
	}
	return found, nil
}
