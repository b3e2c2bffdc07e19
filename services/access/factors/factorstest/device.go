// Package factorstest simulates the devices of users: passkeys without a
// browser, and the codes of authenticator apps.
package factorstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/pquerna/otp/totp"
)

// Flags of authenticator data (W3C Web Authentication, section 6.1).
const (
	flagPresent  = 0x01
	flagVerified = 0x04
	flagKey      = 0x40
)

// Device holds one passkey. Its fields may be changed between uses.
type Device struct {
	Origin   string // of the page that uses it
	Site     string // relying party ID
	Verifies bool   // it verified its user
	Count    uint32 // of signatures; increased by each use
	User     []byte // handle of the user
	ID       []byte
	key      *ecdsa.PrivateKey
}

// NewDevice returns a device that verifies its user, for a page at an origin.
func NewDevice(t testing.TB, origin, site string) *Device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	rand.Read(id)
	return &Device{Origin: origin, Site: site, Verifies: true, ID: id, key: key}
}

// Create returns the browser's response to the options of
// navigator.credentials.create.
func (d *Device) Create(t testing.TB, options string) string {
	t.Helper()
	var asked struct {
		Challenge string
		User      struct{ ID string }
	}
	decode(t, options, &asked)
	d.User = fromBase64(t, asked.User.ID)
	public, err := d.key.PublicKey.Bytes() // 4, then both coordinates
	if err != nil {
		t.Fatal(err)
	}
	cose := encode(t, map[int]any{1: 2, 3: -7, -1: 1, -2: public[1:33], -3: public[33:]})
	data := d.data(flagKey)
	data = append(data, make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(d.ID))) //nolint:gosec // 16
	data = append(append(data, d.ID...), cose...)
	return d.response(t, map[string]any{
		"clientDataJSON":    d.client(t, "webauthn.create", asked.Challenge),
		"attestationObject": toBase64(encode(t, map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})),
	})
}

// Get returns the browser's response to the options of
// navigator.credentials.get.
func (d *Device) Get(t testing.TB, options string) string {
	t.Helper()
	var asked struct{ Challenge string }
	decode(t, options, &asked)
	client, data := d.client(t, "webauthn.get", asked.Challenge), d.data(0)
	hash := sha256.Sum256(fromBase64(t, client))
	signed := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, signed[:])
	if err != nil {
		t.Fatal(err)
	}
	return d.response(t, map[string]any{
		"clientDataJSON": client, "authenticatorData": toBase64(data), "signature": toBase64(signature), "userHandle": toBase64(d.User),
	})
}

// data returns authenticator data without a key.
func (d *Device) data(flags byte) []byte {
	d.Count++
	site := sha256.Sum256([]byte(d.Site))
	flags |= flagPresent
	if d.Verifies {
		flags |= flagVerified
	}
	return binary.BigEndian.AppendUint32(append(site[:], flags), d.Count)
}

func (d *Device) client(t testing.TB, kind, challenge string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": d.Origin, "crossOrigin": false})
	if err != nil {
		t.Fatal(err)
	}
	return toBase64(text)
}

func (d *Device) response(t testing.TB, response map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"id": toBase64(d.ID), "rawId": toBase64(d.ID), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{}, "authenticatorAttachment": "platform",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Code returns what an authenticator app with the secret shows at a time.
func Code(t testing.TB, secret string, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, at)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := cbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t testing.TB, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
}

func toBase64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func fromBase64(t testing.TB, text string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
