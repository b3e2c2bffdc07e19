// Package migrations holds how the schema came to be, once per dialect, and
// applies it.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Step is one migration and whether it has been applied.
type Step struct {
	Version int64
	Name    string
	Applied bool
}

// Up applies every pending migration and returns how many it applied. On
// PostgreSQL an advisory lock lets several starting replicas call it at once.
func Up(ctx context.Context, db *sql.DB, dialect string) (int, error) {
	p, err := provider(db, dialect)
	if err != nil {
		return 0, err
	}
	done, err := p.Up(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate the database: %w", err)
	}
	return len(done), nil
}

// Status returns every known migration, oldest first.
func Status(ctx context.Context, db *sql.DB, dialect string) ([]Step, error) {
	p, err := provider(db, dialect)
	if err != nil {
		return nil, err
	}
	all, err := p.Status(ctx)
	if err != nil {
		return nil, err
	}
	steps := make([]Step, len(all))
	for i, s := range all {
		steps[i] = Step{Version: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied}
	}
	return steps, nil
}

func provider(db *sql.DB, dialect string) (*goose.Provider, error) {
	sub, err := fs.Sub(files, dialect)
	if err != nil {
		return nil, err
	}
	switch dialect {
	case "postgres":
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		return goose.NewProvider(goose.DialectPostgres, db, sub, goose.WithSessionLocker(locker))
	case "sqlite":
		return goose.NewProvider(goose.DialectSQLite3, db, sub)
	default:
		return nil, fmt.Errorf("there are no migrations for %q", dialect)
	}
}
