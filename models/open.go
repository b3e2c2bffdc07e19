package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/gormlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Pool sizes. SQLite has a single writer; its few connections are mostly
// readers.
const (
	sqliteConns   = 4
	postgresConns = 16
)

// A locked SQLite file is retried every busyInterval until busyTimeout has
// passed.
const (
	busyTimeout  = 5 * time.Second
	busyInterval = 5 * time.Millisecond
)

// SQLiteTime is the format of times in SQLite: UTC and of fixed width, so that
// texts sort like times. The driver's default format keeps offsets and drops
// trailing zeros.
const SQLiteTime = "2006-01-02 15:04:05.000"

// ErrDSN is wrapped by every error about an invalid database address.
var ErrDSN = errors.New("invalid database address")

// Dialect returns "sqlite" or "postgres" for an address of the form sqlite:PATH
// or postgres://…, and otherwise an error that wraps ErrDSN.
func Dialect(dsn string) (string, error) {
	switch {
	case dsn == "sqlite::memory:":
		return "", fmt.Errorf("%w: in-memory databases are not supported, use a file", ErrDSN)
	case strings.HasPrefix(dsn, "sqlite:") && len(dsn) > len("sqlite:"):
		return "sqlite", nil
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		if _, err := url.Parse(dsn); err != nil {
			return "", fmt.Errorf("%w: not a URL", ErrDSN)
		}
		return "postgres", nil
	default:
		return "", fmt.Errorf("%w: want sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME", ErrDSN)
	}
}

// sqlitePage is the page size of a new SQLite database in bytes. Writing the
// call log is 4 times as fast as with the default size. Existing databases keep
// theirs.
const sqlitePage = 16 << 10

// Open opens the database at dsn and checks the connection. It creates the
// directory and file of a SQLite database, but no schema. Times are returned in
// UTC with at least millisecond precision. SQLite returns aggregates such as
// max(created_at) as text, because they have no column type.
func Open(ctx context.Context, dsn string) (*gorm.DB, error) {
	dialect, err := Dialect(dsn)
	if err != nil {
		return nil, err
	}
	config := &gorm.Config{
		// Errors are returned to the caller, which logs those that matter. A
		// unique violation or a closed client connection doesn't.
		Logger:         logger.Discard,
		TranslateError: true,
		// Columns are selected by name: SELECT * fails on a prepared connection
		// after a migration, possibly by another process, adds a column.
		QueryFields: true,
		// The ping below respects ctx and waits for a busy file.
		DisableAutomaticPing: true,
		NowFunc:              func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) },
	}
	var db *gorm.DB
	if dialect == "sqlite" {
		path := strings.TrimPrefix(dsn, "sqlite:")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("create database directory: %w", err)
		}
		// A file created by SQLite would be readable by other users.
		file, failed := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if failed != nil {
			return nil, fmt.Errorf("create database file: %w", failed)
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
		uri := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
			// The busy timeout must precede the other pragmas, and the page
			// size must precede those that create the database. Commits are
			// synced to disk, except within Relaxed.
			"_pragma": {
				fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), fmt.Sprintf("page_size(%d)", sqlitePage),
				"journal_mode(wal)", "foreign_keys(1)", "synchronous(full)",
			},
			"_txlock":  {"immediate"},
			"_timefmt": {SQLiteTime},
		}.Encode()}).String()
		var pool *sql.DB
		if pool, err = openSQLite(uri); err == nil {
			db, err = gorm.Open(sqliteDialector{gormlite.OpenDB(pool), filepath.Dir(path)}, config)
		}
		if err == nil {
			err = db.Use(reserve{path + "-reserve"})
		}
	} else {
		var pool *sql.DB
		if pool, err = openPostgres(dsn); err == nil {
			db, err = gorm.Open(postgres.New(postgres.Config{Conn: pool}), config)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(postgresConns)
	if dialect == "sqlite" {
		pool.SetMaxOpenConns(sqliteConns)
	}
	pool.SetMaxIdleConns(sqliteConns)
	if err := ping(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	return db, nil
}

// ping opens the pool's first connection. It retries because switching a new
// SQLite file to the write-ahead log ignores the busy timeout and fails while
// another process does the same.
func ping(ctx context.Context, pool *sql.DB) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := pool.PingContext(ctx)
		if !errors.Is(err, sqlite3.BUSY) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(busyInterval):
		}
	}
}
