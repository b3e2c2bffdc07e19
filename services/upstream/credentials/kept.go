package credentials

import (
	"sync"

	"mcpgateway/services/secrets"
)

// keptSecrets opens each sealed secret of one configuration once. A reference
// is looked up every time, because what it names may change, and so is what
// could not be had. It is safe for concurrent use.
type keptSecrets struct {
	resolver Resolver
	opened   sync.Map // of secrets.Value, by row
}

// Resolve returns the secret behind a stored column, which must always be the
// same for a row. It returns the faults of the resolver.
func (k *keptSecrets) Resolve(stored, row string) (secrets.Value, error) {
	if v, ok := k.opened.Load(row); ok {
		return v.(secrets.Value), nil
	}
	v, err := k.resolver.Resolve(stored, row)
	if err != nil {
		return secrets.Value{}, err
	}
	if _, ok := secrets.Reference(stored); !ok {
		k.opened.Store(row, v)
	}
	return v, nil
}
