package models

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // registers the "sqlite3" driver
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

// ErrDSN is wrapped by every error about the form of a database address.
var ErrDSN = errors.New("unusable database address")

// Dialect returns "sqlite" or "postgres" for a database address of the form
// sqlite:PATH or postgres://…, and an error wrapping ErrDSN for any other.
func Dialect(dsn string) (string, error) {
	switch {
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

// Open opens the database at dsn and checks that it answers. It creates the
// folder and file of a SQLite database; the schema is migrations' business.
func Open(ctx context.Context, dsn string) (*gorm.DB, error) {
	dialect, err := Dialect(dsn)
	if err != nil {
		return nil, err
	}
	config := &gorm.Config{
		Logger:         logger.NewSlogLogger(slog.Default(), logger.Config{LogLevel: logger.Error, IgnoreRecordNotFoundError: true, ParameterizedQueries: true}),
		TranslateError: true,
		NowFunc:        func() time.Time { return time.Now().UTC() },
	}
	var db *gorm.DB
	if dialect == "sqlite" {
		path := strings.TrimPrefix(dsn, "sqlite:")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("create the folder of the database: %w", err)
		}
		uri := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
			"_pragma": {"journal_mode(wal)", "busy_timeout(5000)", "foreign_keys(1)", "synchronous(normal)"},
			"_txlock": {"immediate"},
		}.Encode()}).String()
		db, err = gorm.Open(gormlite.Open(uri), config)
	} else {
		db, err = gorm.Open(postgres.Open(dsn), config)
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
	if err := pool.PingContext(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}
