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
	tagSize      = 4  // bytes that identify the key of a token
	purposeLimit = 64 // purposes with cached keys; others are derived each time
)

// tokenKey is a key of the ring for tokens of one purpose. Tokens contain its
// tag instead of its name: the tag is short and reveals nothing.
type tokenKey struct {
	tag  []byte
	aead cipher.AEAD
}

// SealToken returns plain as an encrypted, authenticated URL-safe token, 33
// bytes longer before base64url encoding. It opens only for the same purpose, a
// constant such as "session". As for GCM in general, one key and purpose should
// seal fewer than 2^32 tokens.
func (r *KeyRing) SealToken(purpose string, plain []byte) string {
	keys, err := r.tokenKeys(purpose)
	if err != nil {
		// Unreachable: deriving succeeded when the ring was created. An empty
		// token can't be opened.
		return ""
	}
	head := append(make([]byte, 0, 1+tagSize+sealOverhead+len(plain)), tokenVersion)
	head = append(head, keys[0].tag...)
	return base64.RawURLEncoding.EncodeToString(keys[0].aead.Seal(head, nil, plain, head))
}

// OpenToken returns the content that SealToken sealed for the same purpose with
// any key of the ring. Otherwise it returns INVALID_PARAMETER, which callers
// replace with their own fault.
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
	return nil, fault.Invalid("Invalid token.")
}

// Name returns a name of 16 hexadecimal digits for a text. It is the same in
// every process with the same active key. Neither text nor key can be derived
// from it.
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
