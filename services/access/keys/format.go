package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"

	"mcpgateway/services/secrets"
)

// A key consists of keyPrefix, 30 random base62 characters (178 bits) and 6
// base62 characters with the CRC-32 of everything before them. The checksum
// rejects typing errors and other tokens without a lookup. The tokens of
// connectors have another prefix of the same length.
const (
	keyPrefix   = "gwk_"
	keyRandom   = 30
	keyChecksum = 6
	keyLength   = len(keyPrefix) + keyRandom + keyChecksum
	// keyDisplayLength is the number of characters of a key stored for display.
	keyDisplayLength = 8
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// keyHash is the SHA-256 of a whole key. Nothing else is stored for
// verification.
type keyHash [sha256.Size]byte

// newKeyText returns a new random key.
func newKeyText() secrets.Value { return NewText(keyPrefix) }

// NewText returns a new random token with a prefix of four characters.
func NewText(prefix string) secrets.Value {
	var b strings.Builder
	b.Grow(keyLength)
	b.WriteString(prefix)
	// Bytes from 248 are drawn again: 248 is the largest multiple of 62 in a
	// byte, and higher values would favor the first characters.
	var one [1]byte
	for n := 0; n < keyRandom; {
		rand.Read(one[:])
		if one[0] < 248 {
			b.WriteByte(base62[one[0]%62])
			n++
		}
	}
	sum := checksum(b.String())
	return secrets.NewValue(b.String() + string(sum[:]))
}

// parseKey returns the hash of a well-formed key; ok is false for any other text.
func parseKey(text string) (hash keyHash, ok bool) { return ParseText(keyPrefix, text) }

// ParseText returns the SHA-256 of a well-formed token with the prefix; ok is
// false for any other text.
func ParseText(prefix, text string) (hash [sha256.Size]byte, ok bool) {
	if len(text) != keyLength || !strings.HasPrefix(text, prefix) {
		return hash, false
	}
	var key [keyLength]byte
	copy(key[:], text)
	const body = keyLength - keyChecksum
	if checksum(text[:body]) != [keyChecksum]byte(key[body:]) {
		return hash, false
	}
	return sha256.Sum256(key[:]), true
}

// scopedHash returns the hash that is stored for keys of toolsets and people.
// Releases without toolsets look keys up by their plain hash and refuse them.
func scopedHash(text string) keyHash { return sha256.Sum256([]byte("scoped:" + text)) }

// checksum returns the CRC-32 of body, in base62.
func checksum(body string) (out [keyChecksum]byte) {
	sum := crc32.ChecksumIEEE([]byte(body))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return out
}
