package secrets

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"

	"mcpgateway/services/fault"
)

// MAC returns the HMAC-SHA256 of data under the active key's subkey for the
// purpose, and the name of the key.
func (r *KeyRing) MAC(purpose string, data []byte) (kid string, mac []byte, err error) {
	mac, err = r.keys[0].mac(purpose, data)
	return r.keys[0].id, mac, err
}

// CheckMAC reports whether mac is the MAC of data under the named key. It
// returns an INTERNAL fault if the ring doesn't have the key.
func (r *KeyRing) CheckMAC(purpose, kid string, data, mac []byte) (bool, error) {
	key := r.find(kid)
	if key == nil {
		return false, fault.New(fault.KindInternal, fault.CodeInternal, "Key %q is not in GATEWAY_SECRETS_KEYS.", kid)
	}
	want, err := key.mac(purpose, data)
	return err == nil && hmac.Equal(want, mac), err
}

func (k *ringKey) mac(purpose string, data []byte) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, k.secret, nil, "gateway mac v1 "+purpose, keySize)
	if err != nil {
		return nil, fault.Internal(err)
	}
	h := hmac.New(sha256.New, key)
	h.Write(data)
	return h.Sum(nil), nil
}
