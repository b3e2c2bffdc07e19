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

// ParseKeyRing returns the ring of a list such as "2026a:BASE64,2025b:BASE64",
// the active key first, each 32 random bytes in base64 (standard or URL-safe).
// It returns an INVALID_PARAMETER fault, which never quotes a key, when the
// list is empty, a name repeats, or a key is of another length or plainly not
// random.
func ParseKeyRing(list string) (*KeyRing, error) {
	ring := &KeyRing{tokens: map[string][]tokenKey{}}
	if strings.TrimSpace(list) == "" {
		return nil, fault.Invalid("the list of keys is empty; give NAME:KEY, where KEY is the output of: openssl rand -base64 32")
	}
	entries := strings.Split(list, ",")
	if len(entries) > keyLimit {
		return nil, fault.Invalid("the list has more than %d keys", keyLimit)
	}
	for i, entry := range entries {
		id, encoded, ok := strings.Cut(strings.TrimSpace(entry), ":")
		if !ok || !validKID(id) {
			return nil, fault.Invalid("key %d of the list must have the form NAME:KEY, with a NAME of 1 to %d letters, digits, - or _", i+1, kidLimit)
		}
		secret, err := decodeKey(encoded)
		if err != nil {
			return nil, fault.Invalid("key %q %s; make one with: openssl rand -base64 32", id, err)
		}
		if ring.find(id) != nil {
			return nil, fault.Invalid("there are two keys called %q", id)
		}
		box, err := derive(secret, "gateway secrets v1")
		if err != nil {
			return nil, err
		}
		ring.keys = append(ring.keys, ringKey{id: id, secret: secret, box: box})
	}
	return ring, nil
}

// LoadOrCreateKeyFile returns the ring in the file at path, in the form that
// ParseKeyRing reads. When there is no file it creates one with one random
// key, readable by its owner only; of several processes that do so at once,
// one wins and all use its key. It returns a fault when the file is unusable
// or readable by anyone but its owner.
func LoadOrCreateKeyFile(path string) (*KeyRing, error) {
	ring, err := loadKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, err
	}
	if err := createKeyFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fault.Invalid("the key file %s cannot be created", path).Because(err)
	}
	return loadKeyFile(path)
}

func loadKeyFile(path string) (*KeyRing, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Invalid("the key file %s cannot be read", path).Because(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Invalid("the key file %s cannot be read", path).Because(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.Invalid("the key file %s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fault.Invalid("others than its owner can use the key file %s; run: chmod 600 %s", path, path)
	}
	content, err := io.ReadAll(io.LimitReader(f, keyFileSize+1))
	if err != nil {
		return nil, fault.Invalid("the key file %s cannot be read", path).Because(err)
	}
	if len(content) > keyFileSize {
		return nil, fault.Invalid("the key file %s is larger than %d bytes", path, keyFileSize)
	}
	ring, err := ParseKeyRing(string(content))
	if err != nil {
		return nil, fault.Invalid("the key file %s is unusable", path).Because(err)
	}
	return ring, nil
}

// createKeyFile writes a new key to a temporary file first and then links it
// to its name, which fails when the name is taken: nobody ever reads half a
// key, and nobody's key is replaced.
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
	return folder.Sync() // else a power failure may lose the name, and with it every secret
}

// ActiveKID returns the name of the key that seals.
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

// decodeKey returns the bytes of a key, or an error that completes the
// sentence "key k …".
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

// derive returns AES-256-GCM under a subkey (HKDF-SHA256, RFC 5869) of secret,
// so that no key serves two purposes.
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
