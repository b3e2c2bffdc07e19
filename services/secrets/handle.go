package secrets

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"mcpgateway/services/fault"
)

const (
	handleVersion  = 2
	handleNonce    = 12 // bytes
	handleOverhead = 1 + tagSize + handleNonce + 16
)

// handleKey is a key of the ring for handles of one purpose.
type handleKey struct {
	tag  []byte
	mac  []byte // of nonces
	aead cipher.AEAD
}

// SealHandle returns plain as an encrypted, authenticated URL-safe handle. Unlike
// a token, the same content always has the same handle, as long as the active
// key stays the same: its nonce is a keyed hash of the content, as in AES-SIV (RFC
// 5297). It opens only for the same purpose and the same owner. It returns an
// INTERNAL fault if no key can be derived.
func (r *KeyRing) SealHandle(purpose, owner string, plain []byte) (string, error) {
	key, err := r.keys[0].handle(purpose)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, key.mac)
	h.Write([]byte(owner))
	h.Write([]byte{0}) // no owner has a null character
	h.Write(plain)
	nonce := h.Sum(nil)[:handleNonce]
	out := append(make([]byte, 0, handleOverhead+len(plain)), handleVersion)
	out = append(append(out, key.tag...), nonce...)
	return base64.RawURLEncoding.EncodeToString(key.aead.Seal(out, nonce, plain, []byte(owner))), nil
}

// OpenHandle returns the content that SealHandle sealed for the same purpose and
// owner with any key of the ring. Otherwise it returns INVALID_PARAMETER, which
// callers replace with their own fault.
func (r *KeyRing) OpenHandle(purpose, owner, handle string) ([]byte, error) {
	raw, ok := decodeExact(handle)
	if !ok || len(raw) < handleOverhead || raw[0] != handleVersion {
		return nil, fault.Invalid("Invalid handle.")
	}
	tag, nonce, box := raw[1:1+tagSize], raw[1+tagSize:1+tagSize+handleNonce], raw[1+tagSize+handleNonce:]
	for i := range r.keys {
		key, err := r.keys[i].handle(purpose)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(key.tag, tag) {
			continue
		}
		if plain, err := key.aead.Open(nil, nonce, box, []byte(owner)); err == nil {
			return plain, nil
		}
	}
	return nil, fault.Invalid("Invalid handle.")
}

// handle returns the key for handles of a purpose.
func (k *ringKey) handle(purpose string) (*handleKey, error) {
	all, err := hkdf.Key(sha256.New, k.secret, nil, "gateway handle v1 "+purpose, tagSize+2*keySize)
	if err != nil {
		return nil, fault.Internal(err)
	}
	block, err := aes.NewCipher(all[tagSize : tagSize+keySize])
	if err != nil {
		return nil, fault.Internal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return &handleKey{tag: all[:tagSize], mac: all[tagSize+keySize:], aead: aead}, nil
}
