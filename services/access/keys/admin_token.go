package keys

import (
	"crypto/sha256"
	"crypto/subtle"

	"mcpgateway/services/secrets"
)

// AdminToken is the bearer token of automation that administers the gateway.
type AdminToken struct {
	hash [sha256.Size]byte
	set  bool
}

// NewAdminToken returns the token; without one nothing matches.
func NewAdminToken(token secrets.Value) AdminToken {
	return AdminToken{hash: sha256.Sum256([]byte(token.Reveal())), set: !token.IsZero()}
}

// Matches reports whether the given text is the token, in a time that does
// not tell how much of it is right.
func (t AdminToken) Matches(given string) bool {
	hash := sha256.Sum256([]byte(given))
	return t.set && subtle.ConstantTimeCompare(hash[:], t.hash[:]) == 1
}
