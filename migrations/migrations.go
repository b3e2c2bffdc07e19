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
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Step is one migration and whether it has been applied.
type Step struct {
	Version int64
	Name    string
	Applied bool
}

// Up applies every pending migration and returns how many it applied. Several
// starting processes may call it at once: one applies, the others wait.
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

// Files returns the dialect's migrations. It returns an error for an unknown
// dialect.
func Files(dialect string) (fs.FS, error) {
	if dialect != "postgres" && dialect != "sqlite" {
		return nil, fmt.Errorf("there are no migrations for %q", dialect)
	}
	return fs.Sub(files, dialect)
}

func provider(db *sql.DB, dialect string) (*goose.Provider, error) {
	sub, err := Files(dialect)
	if err != nil {
		return nil, err
	}
	if dialect == "postgres" {
		return goose.NewProvider(goose.DialectPostgres, db, sub, goose.WithSessionLocker(advisoryLock{}))
	}
	return goose.NewProvider(goose.DialectSQLite3, db, sub, goose.WithLocker(&siblingLock{}))
}
