package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"mcpgateway/services/fault"
)

const (
	keySize     = 32       // bytes of an AES-256 key
	kidLimit    = 32       // characters of a key's name
	keyLimit    = 32       // keys of a ring
	keyFileSize = 64 << 10 // bytes of a key file
)

// KeyRing seals with its first key, the active one, and opens with any of its
// keys. It is safe for concurrent use.
type KeyRing struct {
	keys []ringKey // the first is active

	mu     sync.RWMutex
	tokens map[string][]tokenKey // per purpose, in the order of keys
}

type ringKey struct {
	id     string
	secret []byte
	box    cipher.AEAD
}

// ParseKeyRing returns the ring of a list such as "2026a:BASE64,2025b:BASE64"
// with the active key first. Each key is 32 random bytes in base64 (standard or
// URL-safe). It returns INVALID_PARAMETER, which never contains a key, if the
// list is empty, a name repeats, or a key has another length or is obviously
// not random.
func ParseKeyRing(list string) (*KeyRing, error) {
	ring := &KeyRing{tokens: map[string][]tokenKey{}}
	if strings.TrimSpace(list) == "" {
		return nil, fault.Invalid("The list of keys is empty. Set NAME:KEY, where KEY is the output of: openssl rand -base64 32")
	}
	entries := strings.Split(list, ",")
	if len(entries) > keyLimit {
		return nil, fault.Invalid("The list has more than %d keys.", keyLimit)
	}
	for i, entry := range entries {
		id, encoded, ok := strings.Cut(strings.TrimSpace(entry), ":")
		if !ok || !validKID(id) {
			return nil, fault.Invalid("Key %d of the list must have the form NAME:KEY, with a NAME of 1 to %d letters, digits, - or _.", i+1, kidLimit)
		}
		secret, err := decodeKey(encoded)
		if err != nil {
			return nil, fault.Invalid("Key %q %s. Create one with: openssl rand -base64 32", id, err)
		}
		if ring.find(id) != nil {
			return nil, fault.Invalid("Key %q is in the list twice.", id)
		}
		box, err := derive(secret, "gateway secrets v1")
		if err != nil {
			return nil, err
		}
		ring.keys = append(ring.keys, ringKey{id: id, secret: secret, box: box})
	}
	return ring, nil
}

// LoadOrCreateKeyFile returns the ring in the file at path, in the form of
// ParseKeyRing. If the file is missing, it creates one with a random key,
// readable only by its owner. Of concurrent processes one creates the file and
// all use its key. It returns a fault if the file is invalid or accessible to
// other users.
func LoadOrCreateKeyFile(path string) (*KeyRing, error) {
	ring, err := loadKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, err
	}
	if err := createKeyFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fault.Invalid("Can't create key file %s.", path).Because(err)
	}
	return loadKeyFile(path)
}

func loadKeyFile(path string) (*KeyRing, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Invalid("Can't read key file %s.", path).Because(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Invalid("Can't read key file %s.", path).Because(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.Invalid("Key file %s is not a regular file.", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fault.Invalid("Key file %s is accessible to other users. Run: chmod 600 %s", path, path)
	}
	content, err := io.ReadAll(io.LimitReader(f, keyFileSize+1))
	if err != nil {
		return nil, fault.Invalid("Can't read key file %s.", path).Because(err)
	}
	if len(content) > keyFileSize {
		return nil, fault.Invalid("Key file %s is larger than %d bytes.", path, keyFileSize)
	}
	ring, err := ParseKeyRing(string(content))
	if err != nil {
		return nil, fault.Invalid("Key file %s is invalid.", path).Because(err)
	}
	return ring, nil
}

// createKeyFile writes a new key to a temporary file and links it to its name.
// Linking fails if the name exists, so a key is never read partially or
// replaced.
func createKeyFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(dir, ".secrets-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	secret := make([]byte, keySize)
	rand.Read(secret) // never fails
	_, err = io.WriteString(draft, "k"+strings.ToLower(rand.Text()[:8])+":"+base64.StdEncoding.EncodeToString(secret)+"\n")
	if err == nil {
		err = draft.Sync()
	}
	if e := draft.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := os.Link(draft.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync() // otherwise a power failure could lose the file and all secrets
}

// WithNewKey returns a ring with a new active key of the name before the keys of
// r. A key of r with the same name isn't found any more.
func (r *KeyRing) WithNewKey(id string) (*KeyRing, error) {
	secret := make([]byte, keySize)
	rand.Read(secret) // never fails
	ring, err := ParseKeyRing(id + ":" + base64.StdEncoding.EncodeToString(secret))
	if err != nil {
		return nil, err
	}
	ring.keys = append(ring.keys, r.keys...)
	return ring, nil
}

// ActiveKID returns the name of the active key.
func (r *KeyRing) ActiveKID() string { return r.keys[0].id }

func (r *KeyRing) find(id string) *ringKey {
	for i := range r.keys {
		if r.keys[i].id == id {
			return &r.keys[i]
		}
	}
	return nil
}

func validKID(id string) bool {
	if id == "" || len(id) > kidLimit {
		return false
	}
	for _, c := range []byte(id) {
		if c != '-' && c != '_' && !isAlphanumeric(c) {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// decodeKey returns the bytes of a key, or an error that completes the sentence
// "Key k …".
func decodeKey(encoded string) ([]byte, error) {
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(encoded, "="))
	secret, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		return nil, errors.New("is not base64")
	}
	if len(secret) != keySize {
		return nil, errors.New("does not have 32 bytes")
	}
	for _, b := range secret[1:] {
		if b != secret[0] {
			return secret, nil
		}
	}
	return nil, errors.New("repeats one byte")
}

// derive returns AES-256-GCM under a subkey (HKDF-SHA256, RFC 5869) of secret.
// Each purpose has its own subkey.
func derive(secret []byte, purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, keySize)
	if err != nil {
		return nil, fault.Internal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fault.Internal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return aead, nil
}
