package oauthserver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash/crc32"
	"math/big"
	"strings"

	"mcpgateway/services/secrets"
)

// Prefixes of the authorization server's secrets. A secret is its prefix, 43
// base62 characters of 256 random bits, and 6 characters of the CRC-32 of
// everything before. Mistyped and foreign tokens are rejected without a lookup.
const (
	accessPrefix  = "gwat_"
	refreshPrefix = "gwrt_"
	codePrefix    = "gwac_"
	secretPrefix  = "gwcs_"
	clientPrefix  = "gwc_" // of a client's id, which is not secret

	secretRandom   = 43
	secretChecksum = 6
	clientRandom   = 22
)

// tokenHash is the SHA-256 of a secret. Only the hash is stored.
type tokenHash [sha256.Size]byte

// newSecret returns a new secret for the endpoint of a toolset or, without one,
// of a project, and the hash to store.
func newSecret(prefix, toolsetID string) (secrets.Value, []byte) {
	text := prefix + randomBase62(32, secretRandom)
	tail := checksum(text)
	text += string(tail[:])
	hash := sha256.Sum256([]byte(text))
	if toolsetID != "" {
		hash = scopedHash(text)
	}
	return secrets.NewValue(text), hash[:]
}

// scopedHash returns the hash that is stored for secrets of toolset endpoints.
// Releases without toolsets look secrets up by their plain hash and refuse them.
func scopedHash(text string) tokenHash { return sha256.Sum256([]byte("scoped:" + text)) }

// presented is a well-formed secret that a client sent.
type presented struct {
	text  string
	plain tokenHash
}

// hashes returns the hashes under which the secret can be stored.
func (p presented) hashes() [][]byte {
	scoped := scopedHash(p.text)
	return [][]byte{p.plain[:], scoped[:]}
}

// parseSecret returns a well-formed secret. ok is false for any other text.
func parseSecret(prefix, text string) (secret presented, ok bool) {
	if len(text) != len(prefix)+secretRandom+secretChecksum || !strings.HasPrefix(text, prefix) {
		return secret, false
	}
	body := text[:len(text)-secretChecksum]
	if sum := checksum(body); string(sum[:]) != text[len(body):] {
		return secret, false
	}
	return presented{text: text, plain: sha256.Sum256([]byte(text))}, true
}

// newClientID returns an id for a registered client.
func newClientID() string { return clientPrefix + randomBase62(16, clientRandom) }

// randomBase62 returns a random number of so many bytes in width characters.
func randomBase62(bytes, width int) string {
	b := make([]byte, bytes)
	rand.Read(b)
	text := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", width-len(text)) + text
}

// checksum returns the CRC-32 of a text.
func checksum(text string) (out [secretChecksum]byte) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := crc32.ChecksumIEEE([]byte(text))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = digits[sum%62]
		sum /= 62
	}
	return out
}

// challengeOf returns the S256 challenge of a PKCE verifier (RFC 7636, section 4.2).
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// isUnreserved reports whether a text contains only characters allowed in PKCE
// verifiers and challenges (RFC 7636, section 4.1).
func isUnreserved(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~", r)
	})
}
