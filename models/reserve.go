package models

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gorm.io/gorm"
)

// The sizes of the disk space reserve, in bytes. A revocation needs one or two
// slices; other pending writes may use a freed slice first.
const (
	reserveSize  = 4 << 20
	reserveSlice = 256 << 10
)

// reserve is a file next to a SQLite database. Essential shrinks it to free
// disk space.
type reserve struct{ path string }

// reserveName is the name of the GORM plugin.
const reserveName = "disk reserve"

// Name implements gorm.Plugin.
func (reserve) Name() string { return reserveName }

// Initialize implements gorm.Plugin.
func (reserve) Initialize(*gorm.DB) error { return nil }

// reserveOf returns the reserve of a database. ok is false for PostgreSQL.
func reserveOf(db *gorm.DB) (r reserve, ok bool) {
	r, ok = db.Plugins[reserveName].(reserve)
	return r, ok
}

// KeepReserve fills the reserve of a SQLite database. It does nothing for
// PostgreSQL, and leaves the reserve unchanged if the disk is full.
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
	// Random bytes can't be compressed by the file system.
	missing := make([]byte, reserveSize-info.Size())
	_, _ = rand.Read(missing) // never fails (crypto/rand)
	if _, err := file.WriteAt(missing, info.Size()); err != nil {
		return errors.Join(err, file.Truncate(info.Size()))
	}
	return file.Sync()
}

// FreeSpace returns the free bytes of the file system of a SQLite database. ok is
// false for PostgreSQL and if they are unknown.
func FreeSpace(db *gorm.DB) (free uint64, ok bool) {
	r, ok := reserveOf(db)
	if !ok {
		return 0, false
	}
	return freeSpace(filepath.Dir(r.path))
}

// free releases a slice of the reserve and reports whether there was one.
func (r reserve) free() bool {
	info, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) || err != nil || info.Size() == 0 {
		return false
	}
	return os.Truncate(r.path, max(0, info.Size()-reserveSlice)) == nil
}

// Essential runs write, which revokes or disables something. If the disk of a
// SQLite database is full, it frees slices of the reserve until write succeeds.
// write must be a single transaction.
func Essential(db *gorm.DB, write func() error) error {
	r, ok := reserveOf(db)
	for {
		err := write()
		if !ok || !isFull(err) || !r.free() {
			return err
		}
	}
}

// EssentialTransaction runs write in a transaction, with the retries of
// Essential.
func EssentialTransaction(ctx context.Context, db *gorm.DB, write func(tx *gorm.DB) error) error {
	return Essential(db, func() error { return db.WithContext(ctx).Transaction(write) })
}
