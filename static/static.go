// Package static holds the bytes that are served as they are, under addresses
// that change with their content.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
)

//go:embed css js vendor/htmx.min.js icon.svg icons.svg
var files embed.FS

// hashLength is the number of hex digits of a file's SHA-256 in its URL.
const hashLength = 12

// URL returns the address of a file of this folder, such as "css/app.css".
// It is empty for a file that does not exist.
func URL(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		return ""
	}
	return path.Join("/static", hash(b), name)
}

// Open returns the file called name when its address carries the hash of its
// present content; ok is false otherwise.
func Open(hashed, name string) (content []byte, ok bool) {
	b, err := files.ReadFile(path.Clean(name))
	if err != nil || hash(b) != hashed {
		return nil, false
	}
	return b, true
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:hashLength]
}
