// Package backups copies SQLite databases while they are used, and keeps a
// number of copies in a folder.
package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gorm.io/gorm"
)

// ErrExists is wrapped by the error of Copy if the file exists.
var ErrExists = errors.New("file already exists")

// Copy writes a copy of a SQLite database to path, with all changes that were
// committed before. The file has mode 0600 and gets its name when it is complete
// and on the disk. Copy never replaces a file: its error wraps ErrExists then.
func Copy(ctx context.Context, db *gorm.DB, path string) error {
	return Write(path, func(partial string) error {
		if err := db.WithContext(ctx).Exec("VACUUM INTO ?", partial).Error; err != nil {
			return fmt.Errorf("copy database: %w", err)
		}
		return nil
	})
}

// Write calls write with the name of an empty file of mode 0600 in the folder of
// path, and gives it the name path when it is complete. It returns the errors of
// write and of the file system, and one that wraps ErrExists if path exists.
func Write(path string, write func(partial string) error) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, ErrExists)
	}
	dir := filepath.Dir(path)
	draft, err := os.CreateTemp(dir, partialPrefix+"*") // mode 0600, before other users could read it
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	if err := draft.Close(); err != nil {
		return err
	}
	if err := write(draft.Name()); err != nil {
		return err
	}
	if err := sync(draft.Name()); err != nil {
		return err
	}
	err = os.Link(draft.Name(), path) // fails if the name exists
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", path, ErrExists)
	}
	if err != nil {
		return err
	}
	return sync(dir)
}

// sync waits until a file or folder is on the disk.
func sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}
