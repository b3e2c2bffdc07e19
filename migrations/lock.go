package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "github.com/ncruces/go-sqlite3/driver" // registers the "sqlite3" driver

	"github.com/pressly/goose/v3/lock"
)

// siblingSuffix is the suffix of a SQLite database's lock file.
const siblingSuffix = ".migrating"

// advisoryLock is held on PostgreSQL while a process migrates. Waiting in the
// database ends as soon as the lock is free; goose's own locker polls every
// 5 seconds.
type advisoryLock struct{}

// SessionLock waits until the connection holds the lock.
func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", lock.DefaultLockID)
	return err
}

// SessionUnlock releases the lock.
func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", lock.DefaultLockID)
	return err
}

// siblingLock is held on SQLite while a process migrates: an exclusive
// transaction in an empty database file next to the real one. The real one
// can't be locked as a whole, because each migration is a separate transaction.
// The operating system releases the lock of a process that dies. The file is
// not removed, because two processes could then lock different files.
type siblingLock struct {
	pool *sql.DB // nil while the lock is not held, and for in-memory databases
}

// Lock waits until this process holds the lock.
func (l *siblingLock) Lock(ctx context.Context, db *sql.DB) error {
	var path string
	if err := db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
		return fmt.Errorf("find database file: %w", err)
	}
	if path == "" {
		return nil // in memory: private to this process
	}
	uri := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path + siblingSuffix}).EscapedPath(), RawQuery: url.Values{
		"_pragma": {"busy_timeout(2147483647)"}, // ctx limits the wait
	}.Encode()}).String()
	pool, err := sql.Open("sqlite3", uri)
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1) // the transaction must stay on one connection
	if _, err := pool.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return errors.Join(fmt.Errorf("wait for another process's migration: %w", err), pool.Close())
	}
	l.pool = pool
	return nil
}

// Unlock releases the lock.
func (l *siblingLock) Unlock(context.Context, *sql.DB) error {
	if l.pool == nil {
		return nil
	}
	err := l.pool.Close() // closing rolls back the empty transaction
	l.pool = nil
	return err
}
