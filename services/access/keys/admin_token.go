package keys

import (
	"crypto/sha256"
	"crypto/subtle"

	"mcpgateway/services/secrets"
)

// AdminToken is the bearer token for automated administration.
type AdminToken struct {
	hash [sha256.Size]byte
	set  bool
}

// NewAdminToken returns the AdminToken of token. With an empty token, nothing
// matches.
func NewAdminToken(token secrets.Value) AdminToken {
	return AdminToken{hash: sha256.Sum256([]byte(token.Reveal())), set: !token.IsZero()}
}

// Matches reports whether given is the token, in constant time.
func (t AdminToken) Matches(given string) bool {
	hash := sha256.Sum256([]byte(given))
	return t.set && subtle.ConstantTimeCompare(hash[:], t.hash[:]) == 1
}
