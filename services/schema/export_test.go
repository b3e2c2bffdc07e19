package schema

// LimitCompiled replaces the bound of what a validator keeps, in bytes, so
// that a test need not fill it.
func (v *Validator) LimitCompiled(n int) { v.limit = n }
