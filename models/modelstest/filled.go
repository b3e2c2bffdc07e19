package modelstest

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Filled is a database with rows that many tests start from. Copying it is
// faster than filling one for each test.
type Filled struct {
	// Fill writes the rows into the migrated database at dsn and closes its
	// connections.
	Fill func(t testing.TB, dsn string)

	mu       sync.Mutex
	file     []byte // of SQLite, or nil
	database string // of PostgreSQL, or empty
}

// Each runs f as the subtests "sqlite" and "postgres", each with the address of
// a copy.
func (d *Filled) Each(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, d.SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, d.Postgres(t)) })
}

// SQLite returns the address of a copy in the test's temporary directory.
func (d *Filled) SQLite(t testing.TB) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	dsn := SQLite(t)
	path := strings.TrimPrefix(dsn, "sqlite:")
	if d.file != nil {
		if err := os.WriteFile(path, d.file, 0o600); err != nil {
			t.Fatal(err)
		}
		return dsn
	}
	d.Fill(t, dsn)
	var err error
	if d.file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	// SQLite removes PATH-wal and PATH-shm with its last connection.
	if logs, _ := filepath.Glob(path + "-[ws]*"); len(logs) > 0 {
		t.Fatalf("%v: Fill has left the database open", logs)
	}
	return dsn
}

// Postgres returns the address of a copy that is dropped when the test ends.
func (d *Filled) Postgres(t testing.TB) string {
	t.Helper()
	skipShort(t)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.database == "" {
		template, err := template()
		if err != nil {
			t.Fatalf("prepare PostgreSQL database: %v", err)
		}
		name := "gwfilled_" + strings.ToLower(rand.Text())
		d.Fill(t, newDatabase(t, name, template))
		d.database = name
	}
	return createPostgres(t, d.database)
}

// Close drops the database that others were copied from, for TestMain.
func (d *Filled) Close() error {
	if d.database == "" {
		return nil
	}
	return dropDatabase(d.database)
}
