package passwords

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/secrets"
)

// Limits of a password in characters (NIST SP 800-63B, section 3.1.1.2).
const (
	MinLength = 12
	MaxLength = 256

	minDistinct = 5 // different characters
)

// Problem returns the reason a new password is invalid for the user with the
// email address, or "".
func Problem(password secrets.Value, email string) string {
	text := password.Reveal()
	length := utf8.RuneCountInString(text)
	switch folded := strings.ToLower(strings.TrimSpace(text)); {
	case !utf8.ValidString(text):
		return "Use valid UTF-8 text."
	case length < MinLength:
		return fmt.Sprintf("Use at least %d characters.", MinLength)
	case length > MaxLength:
		return fmt.Sprintf("Use at most %d characters.", MaxLength)
	case folded == strings.ToLower(strings.TrimSpace(email)):
		return "Don't use your email address as the password."
	case distinct(text) < minDistinct, isCommonPassword(folded):
		return "This password is too easy to guess. Use another one."
	}
	return ""
}

func distinct(text string) int {
	seen := map[rune]bool{}
	for _, r := range text {
		if seen[r] = true; len(seen) >= minDistinct {
			break
		}
	}
	return len(seen)
}

// isCommonPassword reports whether a password in lower case is on the lists of
// most guessed passwords. Those shorter than MinLength are omitted.
func isCommonPassword(folded string) bool {
	switch folded {
	case "passwordpassword", "password1234", "password12345", "password123456", "password1234567", "password12345678", "password123456789",
		"passwort1234", "passwort12345", "passwort123456", "passw0rd1234", "p@ssw0rd1234", "p@ssword1234", "mypassword123", "mypassword1234",
		"123456789012", "1234567890123", "12345678901234", "123456789012345", "1234567890123456", "12345678901234567890", "0123456789012", "123456123456",
		"1234567891011", "123456781234", "098765432109", "987654321098", "1q2w3e4r5t6y", "1q2w3e4r5t6y7u", "1q2w3e4r5t6y7u8i9o0p", "1qaz2wsx3edc", "1qaz2wsx3edc4rfv",
		"qwertyuiop12", "qwertyuiop123", "qwertyuiop1234", "qwertyuiop[]", "qwertyuiopasdf", "qwertyuiopasdfghjkl", "qwertyuiopasdfghjklzxcvbnm", "qwerty123456",
		"qwertyqwerty", "qwerty1234567", "qwertzuiop12", "qazwsxedcrfv", "asdfghjkl123", "asdfasdfasdf", "zxcvbnm12345", "abcdefghijkl", "abcdefghijklm",
		"abcdefghijklmnopqrstuvwxyz", "abcd12345678", "abc123456789", "abcdef123456", "a1b2c3d4e5f6", "iloveyou1234", "iloveyou12345", "iloveyouforever",
		"adminadminadmin", "adminadmin12", "admin1234567", "admin12345678", "admin123456789", "administrator", "administrator1", "administrator123", "adminpassword", "rootpassword",
		"changemenow1", "changeme1234", "changeme12345", "changemechangeme", "letmeinletmein", "letmein123456", "welcome12345", "welcome123456", "welcometothejungle",
		"correcthorsebatterystaple", "correct horse battery staple", "trustno1trustno1", "superman1234", "batman123456", "football1234", "baseball1234", "sunshine1234",
		"princess1234", "dragon123456", "monkey123456", "master123456", "mustang12345", "michael12345", "charlie12345", "starwars1234", "pokemon12345", "minecraft123",
		"testtesttest", "test12345678", "testpassword", "testpassword1", "defaultpassword", "secretpassword", "secret123456", "passphrase123", "unbelievable":
		return true
	}
	return false
}
