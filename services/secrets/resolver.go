package secrets

// Resolver converts between values entered by administrators, stored columns
// and secrets for requests.
type Resolver struct {
	ring *KeyRing
	env  *Environment
}

// NewResolver returns a resolver of secrets sealed with ring and of references
// to env.
func NewResolver(ring *KeyRing, env *Environment) *Resolver {
	return &Resolver{ring: ring, env: env}
}

// Resolve returns the secret of a stored column: the opened seal, the current
// value of the reference, or the zero Value for an empty column. row is the one
// it was stored for. It returns the faults of KeyRing.Open and
// Environment.Resolve, and an INTERNAL fault for a column in cleartext.
func (r *Resolver) Resolve(stored, row string) (Value, error) {
	if stored == "" {
		return Value{}, nil
	}
	if _, ok := Reference(stored); ok {
		return r.env.Resolve(stored)
	}
	return r.ring.Open(stored, row)
}

// Store returns the column value of row for an entered value: empty if it is
// empty, an allowed reference unchanged, anything else sealed. It returns the
// VALIDATION_FAILED fault of Environment.Check.
func (r *Resolver) Store(entered, row string) (string, error) {
	if entered == "" {
		return "", nil
	}
	if err := r.env.Check(entered); err != nil {
		return "", err
	}
	if _, ok := Reference(entered); ok {
		return entered, nil
	}
	return r.ring.Seal(NewValue(entered), row)
}
