package secrets

// Resolver translates between what an admin enters, what a column stores and
// what a request needs.
type Resolver struct {
	ring *KeyRing
	env  *Environment
}

// NewResolver returns a resolver of secrets sealed with ring and references
// into env.
func NewResolver(ring *KeyRing, env *Environment) *Resolver {
	return &Resolver{ring: ring, env: env}
}

// Resolve returns the secret behind a stored column: the opened seal, the
// present value of the reference, or the zero Value for an empty column. row
// is the one it was stored for. It returns the faults of KeyRing.Open and
// Environment.Resolve; a column in plain text is not used but an INTERNAL
// fault.
func (r *Resolver) Resolve(stored, row string) (Value, error) {
	if stored == "" {
		return Value{}, nil
	}
	if _, ok := Reference(stored); ok {
		return r.env.Resolve(stored)
	}
	return r.ring.Open(stored, row)
}

// Store returns what to store in the column of row for what an admin entered:
// nothing for nothing, an allowed reference as it is, anything else sealed. It
// returns the VALIDATION_FAILED fault of Environment.Check.
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
