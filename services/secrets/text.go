package secrets

import "strings"

// MayHold reports whether a text that was pasted may hold a secret, so that it
// must not be shown again. It rather reports so once too often.
func MayHold(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"authbearer", "authorization", "bearer", "secret", "token", "key", "headers", "password", "@"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
