package secrets

import (
	"encoding/base64"
	"strings"

	"mcpgateway/services/fault"
)

// sealVersion is the prefix of every sealed secret.
const sealVersion = "v1"

// Seal returns v as "v1:KID:BASE64URL", sealed with AES-256-GCM under the
// active key. It is bound to row, such as "servers/ID/auth_bearer", and opens
// only for that row. It returns an INTERNAL fault for an empty row.
func (r *KeyRing) Seal(v Value, row string) (string, error) {
	if row == "" {
		return "", fault.New(fault.KindInternal, fault.CodeInternal, "seal a secret without a row")
	}
	key := &r.keys[0]
	sealed := key.box.Seal(nil, nil, []byte(v.Reveal()), boundTo(key.id, row))
	return sealVersion + ":" + key.id + ":" + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open returns the secret that Seal sealed for the same row. It returns an
// INTERNAL fault with a remedy if the key is missing, or if the text was
// changed or belongs to another row.
func (r *KeyRing) Open(sealed, row string) (Value, error) {
	id, box, ok := splitSealed(sealed)
	if !ok {
		return Value{}, fault.New(fault.KindInternal, fault.CodeInternal, "The stored secret of %s is not sealed. Enter it again.", row)
	}
	key := r.find(id)
	if key == nil {
		return Value{}, fault.New(fault.KindInternal, fault.CodeInternal, "The stored secret of %s was sealed with key %q, which is not in GATEWAY_SECRETS_KEYS. Add it after the active key, or enter the secret again.", row, id)
	}
	plain, err := key.box.Open(nil, nil, box, boundTo(id, row))
	if err != nil {
		return Value{}, fault.New(fault.KindInternal, fault.CodeInternal, "The stored secret of %s was changed, belongs to another row, or was sealed with another key named %q. Enter it again.", row, id).Because(err)
	}
	return NewValue(string(plain)), nil
}

// NeedsReseal reports whether s is a sealed secret of another key than the
// active one.
func (r *KeyRing) NeedsReseal(s string) bool {
	id, _, ok := splitSealed(s)
	return ok && id != r.ActiveKID()
}

// Reseal opens a secret and seals it for the same row with the active key. It
// returns the faults of Open and Seal.
func (r *KeyRing) Reseal(sealed, row string) (string, error) {
	v, err := r.Open(sealed, row)
	if err != nil {
		return "", err
	}
	return r.Seal(v, row)
}

// boundTo returns the associated data of a seal. Only the last part can contain
// the separator, so different parts never form the same data.
func boundTo(id, row string) []byte {
	return []byte(sealVersion + "\x00" + id + "\x00" + row)
}

func splitSealed(s string) (id string, box []byte, ok bool) {
	rest, ok := strings.CutPrefix(s, sealVersion+":")
	if !ok {
		return "", nil, false
	}
	id, encoded, ok := strings.Cut(rest, ":")
	if !ok || !validKID(id) {
		return "", nil, false
	}
	box, ok = decodeExact(encoded)
	return id, box, ok && len(box) >= sealOverhead
}

// sealOverhead is the length of AES-GCM's nonce (12) and tag (16) in bytes.
const sealOverhead = 28

// decodeExact decodes unpadded base64url. Unlike the standard decoder, it
// rejects line breaks and nonzero trailing bits.
func decodeExact(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return b, err == nil
}
