// Package passwords computes and checks password hashes with limited
// concurrency, and validates new passwords.
package passwords

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Cost of a password hash (OWASP, "Password Storage", argon2id).
const (
	hashMemory  = 19 * 1024 // KiB
	hashTime    = 2
	hashThreads = 1
	hashLength  = 32 // bytes
	saltLength  = 16 // bytes
)

// Limits of a stored hash, so that a manipulated row can't exhaust the memory
// of the process.
const (
	maxHashMemory  = 256 * 1024 // KiB
	maxHashTime    = 16
	maxHashThreads = 16
	maxHashLength  = 64 // bytes
)

// Derivation computes a hash, as argon2.IDKey does.
type Derivation func(password, salt []byte, time, memory uint32, threads uint8, length uint32) []byte

// Hasher computes and checks password hashes, at most MaxSignInHashes and
// MaxSignedInHashes concurrently.
type Hasher struct {
	signIn, signedIn *hashSlots
	derive           Derivation
}

// New returns a Hasher that uses derive: argon2.IDKey (RFC 9106) outside of
// tests.
func New(derive Derivation) *Hasher {
	return &Hasher{signIn: newHashSlots(MaxSignInHashes), signedIn: newHashSlots(MaxSignedInHashes), derive: derive}
}

// Hash returns the hash of the password as a PHC string. It returns UNAVAILABLE
// if no slot is free within maxHashWait, and the context's error.
func (p *Hasher) Hash(ctx context.Context, queue Queue, password secrets.Value) (string, error) {
	salt := make([]byte, saltLength)
	rand.Read(salt) // never fails
	parameters := hashParameters{memory: hashMemory, time: hashTime, threads: hashThreads, salt: salt, sum: make([]byte, hashLength)}
	sum, err := p.compute(ctx, queue, password, parameters)
	if err != nil {
		return "", err
	}
	parameters.sum = sum
	return parameters.String(), nil
}

// Matches reports whether hash is the password's, and whether it was computed
// with an outdated cost and should be replaced. An empty hash never matches,
// but takes as long as any other. It returns the errors of Hash, and INTERNAL
// for an invalid hash.
func (p *Hasher) Matches(ctx context.Context, queue Queue, hash string, password secrets.Value) (ok, outdated bool, err error) {
	parameters := hashParameters{memory: hashMemory, time: hashTime, threads: hashThreads, salt: make([]byte, saltLength), sum: make([]byte, hashLength)}
	if hash != "" {
		if parameters, err = parseHash(hash); err != nil {
			return false, false, fault.Internal(err)
		}
	}
	sum, err := p.compute(ctx, queue, password, parameters)
	if err != nil {
		return false, false, err
	}
	ok = subtle.ConstantTimeCompare(sum, parameters.sum) == 1 && hash != ""
	return ok, ok && !parameters.current(), nil
}

func (p *Hasher) compute(ctx context.Context, queue Queue, password secrets.Value, h hashParameters) ([]byte, error) {
	slots := p.signIn
	if queue.signedIn {
		slots = p.signedIn
	}
	release, err := slots.acquire(ctx, queue.key)
	if err != nil {
		return nil, err
	}
	defer release()
	return p.derive([]byte(password.Reveal()), h.salt, h.time, h.memory, h.threads, uint32(len(h.sum))), nil
}

// hashParameters holds the parts of a PHC string.
type hashParameters struct {
	memory, time uint32
	threads      uint8
	salt, sum    []byte
}

// current reports whether the hash has today's cost.
func (h hashParameters) current() bool {
	return h.memory == hashMemory && h.time == hashTime && h.threads == hashThreads && len(h.salt) == saltLength && len(h.sum) == hashLength
}

// String returns the hash in the PHC string format.
func (h hashParameters) String() string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads, encode(h.salt), encode(h.sum))
}

// parseHash parses a PHC string. Its error doesn't contain the string.
func parseHash(text string) (hashParameters, error) {
	unusable := errors.New("stored password hash is invalid: reset the password")
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return hashParameters{}, unusable
	}
	var h hashParameters
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); n != 3 || err != nil {
		return hashParameters{}, unusable
	}
	var saltErr, sumErr error
	h.salt, saltErr = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	h.sum, sumErr = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if saltErr != nil || sumErr != nil || h.time < 1 || h.time > maxHashTime || h.memory > maxHashMemory || h.threads < 1 || h.threads > maxHashThreads ||
		len(h.salt) == 0 || len(h.salt) > maxHashLength || len(h.sum) < saltLength || len(h.sum) > maxHashLength {
		return hashParameters{}, unusable
	}
	return h, nil
}
