package secrets

import (
	"bytes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"mcpgateway/services/fault"
)

const (
	tokenVersion = 1
	tagSize      = 4  // bytes that tell which key sealed a token
	purposeLimit = 64 // purposes whose keys are kept; more are derived anew each time
)

// tokenKey is a key of the ring for the tokens of one purpose. Its tag, not
// its name, is part of the token: it is short and tells outsiders nothing.
type tokenKey struct {
	tag  []byte
	aead cipher.AEAD
}

// SealToken returns plain as an encrypted and authenticated URL-safe token,
// 33 bytes longer before its base64url encoding. The token opens only with the
// same purpose, which should be a constant such as "session". Like GCM itself,
// one purpose and key should seal fewer than 2^32 tokens.
func (r *KeyRing) SealToken(purpose string, plain []byte) string {
	keys, err := r.tokenKeys(purpose)
	if err != nil {
		// Deriving the same way worked when the ring was made. An empty token
		// opens for nobody.
		return ""
	}
	head := append(make([]byte, 0, 1+tagSize+sealOverhead+len(plain)), tokenVersion)
	head = append(head, keys[0].tag...)
	return base64.RawURLEncoding.EncodeToString(keys[0].aead.Seal(head, nil, plain, head))
}

// OpenToken returns what SealToken sealed for the same purpose with any key of
// the ring. Every other text is an INVALID_PARAMETER fault, which callers
// replace with what an unusable token means to them.
func (r *KeyRing) OpenToken(purpose, token string) ([]byte, error) {
	keys, err := r.tokenKeys(purpose)
	if err != nil {
		return nil, err
	}
	raw, ok := decodeExact(token)
	if ok && len(raw) >= 1+tagSize+sealOverhead && raw[0] == tokenVersion {
		head, box := raw[:1+tagSize], raw[1+tagSize:]
		for _, key := range keys {
			if !bytes.Equal(key.tag, head[1:]) {
				continue
			}
			if plain, err := key.aead.Open(nil, nil, box, head); err == nil {
				return plain, nil
			}
		}
	}
	return nil, fault.Invalid("the token is not one of ours, or was changed, or its key is gone")
}

// Name returns a name of 16 hexadecimal digits for a text. It is the same in
// every process with the same active key, and neither can be derived from it.
func (r *KeyRing) Name(purpose, text string) (string, error) {
	name, err := hkdf.Key(sha256.New, r.keys[0].secret, []byte(text), "gateway name v1 "+purpose, 8)
	if err != nil {
		return "", fault.Internal(err)
	}
	return hex.EncodeToString(name), nil
}

// tokenKeys returns the keys of a purpose in the ring's order.
func (r *KeyRing) tokenKeys(purpose string) ([]tokenKey, error) {
	r.mu.RLock()
	keys, ok := r.tokens[purpose]
	r.mu.RUnlock()
	if ok {
		return keys, nil
	}
	for _, key := range r.keys {
		tag, err := hkdf.Key(sha256.New, key.secret, nil, "gateway token tag v1 "+purpose, tagSize)
		if err != nil {
			return nil, fault.Internal(err)
		}
		aead, err := derive(key.secret, "gateway token v1 "+purpose)
		if err != nil {
			return nil, err
		}
		keys = append(keys, tokenKey{tag: tag, aead: aead})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tokens) < purposeLimit {
		r.tokens[purpose] = keys
	}
	return keys, nil
}
