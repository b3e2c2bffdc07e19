// Package signing makes the secrets and signatures of Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks, version 1).
package signing

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Limits of a secret, in bytes before base64.
const (
	MinSecret = 24
	MaxSecret = 64

	newSecret = 32
)

// prefix marks secrets of webhooks.
const prefix = "whsec_"

// New returns a random secret.
func New() secrets.Value {
	b := make([]byte, newSecret)
	_, _ = rand.Read(b) // never fails
	return secrets.NewValue(prefix + base64.StdEncoding.EncodeToString(b))
}

// Check returns VALIDATION_FAILED for the field secret if the text is not whsec_
// and base64 of MinSecret to MaxSecret bytes.
func Check(secret secrets.Value) error {
	if _, ok := key(secret); !ok {
		return fault.Validation(map[string]string{"secret": "use whsec_ and base64 of 24 to 64 bytes, or leave it empty for a new one"})
	}
	return nil
}

func key(secret secrets.Value) ([]byte, bool) {
	text, ok := strings.CutPrefix(secret.Reveal(), prefix)
	if !ok {
		return nil, false
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	return b, err == nil && len(b) >= MinSecret && len(b) <= MaxSecret
}

// Sign returns the value of webhook-signature: a signature with each secret. It
// returns the fault of Check for an invalid one.
func Sign(id string, at time.Time, body []byte, with ...secrets.Value) (string, error) {
	signatures := make([]string, len(with))
	for i, secret := range with {
		k, ok := key(secret)
		if !ok {
			return "", Check(secret)
		}
		mac := hmac.New(sha256.New, k)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}
