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

// siblingSuffix makes the name of the lock file of a SQLite database.
const siblingSuffix = ".migrating"

// advisoryLock is held on PostgreSQL while one process migrates. It waits in
// the database, so that a waiting replica goes on at once; goose's own locker
// asks again every five seconds.
type advisoryLock struct{}

// SessionLock returns when the connection holds the lock.
func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", lock.DefaultLockID)
	return err
}

// SessionUnlock gives the lock back.
func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", lock.DefaultLockID)
	return err
}

// siblingLock is held on SQLite while one process migrates: an exclusive
// transaction in an empty database file beside the real one. The real one
// cannot be locked as a whole, because each migration is a transaction of its
// own. The operating system frees the lock of a process that dies; the file
// stays, because removing it would let two processes lock different files.
type siblingLock struct {
	pool *sql.DB // nil while the lock is not held, and for a database in memory
}

// Lock returns when this process holds the lock.
func (l *siblingLock) Lock(ctx context.Context, db *sql.DB) error {
	var path string
	if err := db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
		return fmt.Errorf("find the database file: %w", err)
	}
	if path == "" {
		return nil // in memory, so nobody else sees it
	}
	uri := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path + siblingSuffix}).EscapedPath(), RawQuery: url.Values{
		"_pragma": {"busy_timeout(2147483647)"}, // the context ends the wait
	}.Encode()}).String()
	pool, err := sql.Open("sqlite3", uri)
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1) // BEGIN and its end must meet the same connection
	if _, err := pool.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return errors.Join(fmt.Errorf("wait for another process that migrates the database: %w", err), pool.Close())
	}
	l.pool = pool
	return nil
}

// Unlock gives the lock back.
func (l *siblingLock) Unlock(context.Context, *sql.DB) error {
	if l.pool == nil {
		return nil
	}
	err := l.pool.Close() // the transaction holds no change and ends with its connection
	l.pool = nil
	return err
}
