package models

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"gorm.io/gorm"
)

// The space that is kept free for a full disk, in bytes. A revocation needs
// a slice or two; other pending writes may use up a freed slice first.
const (
	reserveSize  = 4 << 20
	reserveSlice = 256 << 10
)

// reserve is a file next to a SQLite database whose space Essential frees.
type reserve struct{ path string }

// reserveName is the name of the reserve among GORM's plugins.
const reserveName = "disk reserve"

// Name implements gorm.Plugin.
func (reserve) Name() string { return reserveName }

// Initialize implements gorm.Plugin.
func (reserve) Initialize(*gorm.DB) error { return nil }

// reserveOf returns the reserve of a database; ok is false for PostgreSQL, whose
// disk is not ours.
func reserveOf(db *gorm.DB) (r reserve, ok bool) {
	r, ok = db.Plugins[reserveName].(reserve)
	return r, ok
}

// KeepReserve fills the reserve of a SQLite database up. It does nothing for
// PostgreSQL, and leaves the reserve as it was when the disk has no space.
func KeepReserve(db *gorm.DB) error {
	r, ok := reserveOf(db)
	if !ok {
		return nil
	}
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() >= reserveSize {
		return err
	}
	// Random bytes take space in compressed file systems too.
	missing := make([]byte, reserveSize-info.Size())
	_, _ = rand.Read(missing) // it never fails (crypto/rand)
	if _, err := file.WriteAt(missing, info.Size()); err != nil {
		return errors.Join(err, file.Truncate(info.Size()))
	}
	return file.Sync()
}

// free releases a slice of the reserve. It reports whether there was one.
func (r reserve) free() bool {
	info, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) || err != nil || info.Size() == 0 {
		return false
	}
	return os.Truncate(r.path, max(0, info.Size()-reserveSlice)) == nil
}

// Essential runs write, which withdraws a right: a revocation, or
// disabling. When the disk of a SQLite database is full, space of its reserve
// is freed until write succeeds. write must be one transaction.
func Essential(db *gorm.DB, write func() error) error {
	r, ok := reserveOf(db)
	for {
		err := write()
		if !ok || !isFull(err) || !r.free() {
			return err
		}
	}
}

// EssentialTransaction runs write in a transaction, as Essential does.
func EssentialTransaction(ctx context.Context, db *gorm.DB, write func(tx *gorm.DB) error) error {
	return Essential(db, func() error { return db.WithContext(ctx).Transaction(write) })
}
