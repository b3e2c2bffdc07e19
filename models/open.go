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

// Pool sizes: SQLite has one writer, so a few connections serve the readers.
const (
	sqliteConns   = 4
	postgresConns = 16
)

// A SQLite file that another process has locked is tried again every
// busyInterval until busyTimeout is over.
const (
	busyTimeout  = 5 * time.Second
	busyInterval = 5 * time.Millisecond
)

// SQLiteTime is how SQLite stores a time: always in UTC and always as wide, so
// that comparing and sorting the texts compares and sorts the times. The
// driver's default keeps offsets and drops trailing zeros and does neither.
const SQLiteTime = "2006-01-02 15:04:05.000"

// ErrDSN is wrapped by every error about the form of a database address.
var ErrDSN = errors.New("unusable database address")

// Dialect returns "sqlite" or "postgres" for a database address of the form
// sqlite:PATH or postgres://…, and an error wrapping ErrDSN for any other.
func Dialect(dsn string) (string, error) {
	switch {
	case dsn == "sqlite::memory:":
		return "", fmt.Errorf("%w: a database in memory would be another one for every connection: give it a file", ErrDSN)
	case strings.HasPrefix(dsn, "sqlite:") && len(dsn) > len("sqlite:"):
		return "sqlite", nil
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		if _, err := url.Parse(dsn); err != nil {
			return "", fmt.Errorf("%w: it is not a URL", ErrDSN)
		}
		return "postgres", nil
	default:
		return "", fmt.Errorf("%w: want sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME", ErrDSN)
	}
}

// sqlitePage is how large the pages of a new SQLite database are, in bytes. The
// log of calls is written four times as many bytes at once as with the usual
// size; databases that exist keep theirs.
const sqlitePage = 16 << 10

// Open opens the database at dsn and checks that it answers. It creates the
// folder and file of a SQLite database; the schema is migrations' business.
// Times come back in UTC, with milliseconds or better. An aggregate such as
// max(created_at) has no column type, so SQLite returns it as text.
func Open(ctx context.Context, dsn string) (*gorm.DB, error) {
	dialect, err := Dialect(dsn)
	if err != nil {
		return nil, err
	}
	config := &gorm.Config{
		// Every error comes back to who asked, who knows what it means and says so
		// in the log of the process: a name that is taken, or a client that went
		// away, is none.
		Logger:         logger.Discard,
		TranslateError: true,
		// Columns are read by name: a connection that knew a table before a
		// migration, perhaps that of another process, fails on SELECT * once the
		// table has more of them.
		QueryFields: true,
		// The ping below honours the context and waits for a busy file.
		DisableAutomaticPing: true,
		NowFunc:              func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) },
	}
	var db *gorm.DB
	if dialect == "sqlite" {
		path := strings.TrimPrefix(dsn, "sqlite:")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("create the folder of the database: %w", err)
		}
		// SQLite would let others read a file that it creates.
		file, failed := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if failed != nil {
			return nil, fmt.Errorf("create the database: %w", failed)
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
		uri := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
			// The busy timeout comes first, so that it already holds for the others;
			// the size of a page before what begins a new database. A commit is on
			// the disk before it is acknowledged; Relaxed makes exceptions.
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
		return nil, fmt.Errorf("open the database: %w", err)
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
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

// ping opens the pool's first connection. Switching a new SQLite file to the
// write-ahead log fails at once, whatever the busy timeout, while another
// process does the same; trying again is the remedy.
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
