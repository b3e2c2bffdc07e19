package secrets

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

const (
	randomSize    = 32 // bytes
	randomEncoded = 43 // characters of randomSize bytes in base64url
)

// Random returns a new random text, for cookies and links, and the hash to store
// in its place.
func Random() (text Value, hash []byte) {
	raw := make([]byte, randomSize)
	rand.Read(raw) // never fails
	sum := sha256.Sum256(raw)
	return NewValue(base64.RawURLEncoding.EncodeToString(raw)), sum[:]
}

// RandomHash returns the stored hash of a text that Random returned. ok is false
// for malformed texts, which need no database query.
func RandomHash(text string) (hash []byte, ok bool) {
	if len(text) != randomEncoded || strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, false
	}
	sum := sha256.Sum256(raw)
	return sum[:], true
}
