// Package trusted reads files that name programs to run. It refuses a file that
// another user could have written.
package trusted

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// MaxSize is the maximum size of a file in bytes.
const MaxSize = 1 << 20

// File is the content of a file at the time of the check.
type File struct {
	Path    string // absolute, without symbolic links
	Content []byte
	Hash    string // SHA-256 of Content in hex
}

// Refusal is the error for a file that must not be used. Its text starts with
// the path and ends with the remedy.
type Refusal struct{ Path, Reason string }

func (r *Refusal) Error() string { return r.Path + ": " + r.Reason }

func refuse(path, format string, args ...any) error {
	return &Refusal{Path: path, Reason: fmt.Sprintf(format, args...)}
}

// Content returns the content of a file that Read accepts.
func Content(path string) ([]byte, error) {
	f, err := Read(path)
	if err != nil {
		return nil, err
	}
	return f.Content, nil
}

// Read returns the content of a file. The file must be regular, have at most
// MaxSize bytes, belong to the user of this process or to root, and be writable
// by no other user; so must each directory of its resolved path, except that
// sticky directories can be writable by all. Checks and reads
// use the same descriptor, so replacing the file in the meantime has no effect.
//
// The error is a *Refusal.
func Read(path string) (*File, error) {
	resolved, err := resolve(path)
	if err != nil {
		return nil, refuse(path, "%v", unwrapPath(err))
	}
	f, err := open(resolved, owner{uid: uint32(os.Geteuid())})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, refuse(resolved, "%v", unwrapPath(err))
	}
	if len(content) > MaxSize {
		return nil, refuse(resolved, "it has more than %d bytes", MaxSize)
	}
	hash := sha256.Sum256(content)
	return &File{Path: resolved, Content: content, Hash: hex.EncodeToString(hash[:])}, nil
}

// resolve returns the absolute path without symbolic links.
func resolve(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// unwrapPath returns the cause of an error that also contains the path.
func unwrapPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// owner is a user.
type owner struct{ uid uint32 }

// status are the properties of a file or directory that are checked.
type status struct {
	mode     uint32 // permission bits and sticky bit
	uid, gid uint32
	kind     kind
}

type kind uint8

const (
	kindOther kind = iota
	kindRegular
	kindDirectory
)

const (
	sticky     = 0o1000
	groupWrite = 0o020
	otherWrite = 0o002
)

// check returns a refusal for a file or directory that others can write.
func (o owner) check(path string, s status) error {
	switch {
	case s.uid != 0 && s.uid != o.uid:
		return refuse(path, "it belongs to another user (%d): copy it", s.uid)
	case s.kind == kindDirectory && s.mode&sticky != 0:
		return nil
	case s.mode&otherWrite != 0:
		return refuse(path, "others may write it (mode %04o): chmod go-w %s", s.mode&0o7777, path)
	case s.mode&groupWrite != 0 && (s.gid != s.uid || s.uid != o.uid):
		return refuse(path, "its group may write it (mode %04o): chmod g-w %s", s.mode&0o7777, path)
	}
	return nil
}
