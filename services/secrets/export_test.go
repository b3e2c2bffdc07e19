package secrets

// Sealed reports whether s has the format of a sealed secret. It doesn't check
// whether the secret can be opened.
func Sealed(s string) bool {
	_, _, ok := splitSealed(s)
	return ok
}
