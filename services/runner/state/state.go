//go:build linux || darwin

// Package state is the directory of a runner: its ID, its lock and its control
// socket.
package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// Names of the files in the directory.
const (
	idFile     = "id"
	lockFile   = "lock"
	socketFile = "control.sock"
)

// Directory is the state directory of a runner, locked for this process.
type Directory struct {
	path, runner string
	lock         *os.File
}

// InUse is the error for a directory that another runner has locked.
type InUse struct{ Path string }

func (e *InUse) Error() string {
	return fmt.Sprintf("another runner uses the directory %s: choose one with --state, or stop that runner", e.Path)
}

// Open locks a directory until Close, and creates it with a new ID if it does
// not exist. The directory must belong to the user of this process, and no
// other user may have access. The error is *InUse, or describes what to change.
func Open(path string) (*Directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &InUse{Path: path}
		}
		return nil, os.NewSyscallError("flock", err)
	}
	d := &Directory{path: path, lock: lock}
	if d.runner, err = id(filepath.Join(path, idFile)); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return d, nil
}

// private returns an error if others have access to a directory.
func private(path string) error {
	var info unix.Stat_t
	if err := unix.Stat(path, &info); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if int(info.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user: choose another directory with --state", path)
	}
	if mode := info.Mode & 0o777; mode&0o077 != 0 {
		return fmt.Errorf("%s: others have access to it (mode %04o): chmod 0700 %s", path, mode, path)
	}
	return nil
}

var validID = regexp.MustCompile(`^[0-9a-f]{24}$`)

// id returns the ID in a file. It creates a missing or damaged one.
func id(file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if known := strings.TrimSpace(string(raw)); validID.MatchString(known) {
		return known, nil
	}
	random := make([]byte, 12)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	created := hex.EncodeToString(random)
	return created, os.WriteFile(file, []byte(created+"\n"), 0o600)
}

// Close unlocks the directory.
func (d *Directory) Close() error { return d.lock.Close() }

// Path is the absolute path of the directory.
func (d *Directory) Path() string { return d.path }

// Runner is the ID of the runner. It stays the same, so that a runner finds what
// an earlier one left.
func (d *Directory) Runner() string { return d.runner }

// Socket returns the path of the control socket in a directory.
func Socket(path string) string { return filepath.Join(path, socketFile) }
