package secrets

import "strings"

// MayHold reports whether a pasted text may contain a secret and must not be
// displayed again. It prefers false positives.
func MayHold(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"authbearer", "authorization", "bearer", "secret", "token", "key", "headers", "password", "@"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
