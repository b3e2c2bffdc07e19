package codemode

// LimitCompiled replaces the bound of what a validator keeps, in bytes, so
// that a test need not fill it.
func (v *ArgumentValidator) LimitCompiled(n int) { v.limit = n }

// LimitKept sets how many bytes of declarations are kept.
func LimitKept(d *Declarations, bytes int) { d.limit = bytes }

// Kept returns how many bytes of declarations are kept, of how many projects.
func Kept(d *Declarations) (bytes, projects int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size, len(d.kept)
}
