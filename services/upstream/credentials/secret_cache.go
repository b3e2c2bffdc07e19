package credentials

import (
	"sync"

	"mcpgateway/services/secrets"
)

// secretCache decrypts each sealed secret of one configuration once. References
// are resolved every time, because their targets can change. Failures are not
// cached. It is safe for concurrent use.
type secretCache struct {
	resolver Resolver
	opened   sync.Map // secrets.Value by row
}

// Resolve returns the secret of a stored column. A row must always have the
// same stored value. It returns the faults of the resolver.
func (k *secretCache) Resolve(stored, row string) (secrets.Value, error) {
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
