package schema

// LimitCompiled replaces a validator's cache limit, in bytes, so that a test
// doesn't have to fill it.
func (v *Validator) LimitCompiled(n int) { v.limit = n }
