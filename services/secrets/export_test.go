package secrets

// Sealed reports whether s has the form of a sealed secret. It says nothing
// about whether the secret opens.
func Sealed(s string) bool {
	_, _, ok := splitSealed(s)
	return ok
}
