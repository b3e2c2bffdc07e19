// Package migrations contains the schema migrations of both dialects and
// applies them.
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

// Step is a migration and whether it has been applied.
type Step struct {
	Version int64
	Name    string
	Applied bool
}

// Up applies all pending migrations and returns their number. Processes may
// call it concurrently: one migrates while the others wait.
func Up(ctx context.Context, db *sql.DB, dialect string) (int, error) {
	p, err := provider(db, dialect)
	if err != nil {
		return 0, err
	}
	done, err := p.Up(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate database: %w", err)
	}
	return len(done), nil
}

// Status returns all migrations, oldest first.
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
		return nil, fmt.Errorf("no migrations for dialect %q", dialect)
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
