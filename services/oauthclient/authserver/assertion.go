package authserver

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// MethodAssertion is the authentication method with a signed assertion (OpenID
// Connect Core, section 9).
const MethodAssertion = "private_key_jwt"

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" // RFC 7523, section 2.2
	assertionLife = time.Minute
)

// SigningKey signs the assertions of a client: RS256 with an RSA key, ES256 with
// an EC key on P-256.
type SigningKey struct {
	Key      crypto.Signer
	ID       string // kid, or empty
	Audience string // aud
}

// assertion returns a new assertion of the client (RFC 7523, section 3). It is
// valid for a minute, and its jti is unique. The error is an *Error.
func (k *SigningKey) assertion(clientID string, now time.Time) (string, error) {
	algorithm := jose.ES256
	if _, isRSA := k.Key.(*rsa.PrivateKey); isRSA {
		algorithm = jose.RS256
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: k.Key, KeyID: k.ID}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err == nil {
		var text string
		text, err = jwt.Signed(signer).Claims(jwt.Claims{
			Issuer: clientID, Subject: clientID, Audience: jwt.Audience{k.Audience}, ID: rand.Text(),
			IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionLife)),
		}).Serialize()
		if err == nil {
			return text, nil
		}
	}
	return "", newError(ClientRejected, codeAssertion, "The assertion can't be signed with the configured private key.")
}
