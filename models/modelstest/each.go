// Package modelstest gives tests real, migrated databases of both dialects.
// Each test gets its own, so that tests may run in parallel. PostgreSQL comes
// from Debian's server binaries, in a throw-away cluster without a network
// port; there is nothing to set up and nothing is left behind.
package modelstest

import (
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
)

// Each runs f as the subtests "sqlite" and "postgres", each on a fresh and
// migrated database that is closed and removed when the subtest ends.
func Each(t *testing.T, f func(t *testing.T, db *gorm.DB)) {
	t.Helper()
	EachDSN(t, func(t *testing.T, dsn string) { f(t, Open(t, dsn)) })
}

// EachDSN is Each for tests that open the database themselves: f gets the
// address of a fresh and migrated database in the form models.Open takes.
func EachDSN(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, Postgres(t)) })
}

// EachEmptyDSN is EachDSN without the schema: the databases hold no table yet.
func EachEmptyDSN(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, emptySQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, emptyPostgres(t)) })
}

// Open returns the database at dsn, opened as the product opens it, and closes
// it when the test ends.
func Open(t testing.TB, dsn string) *gorm.DB {
	t.Helper()
	db, err := models.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Errorf("close the test database: %v", err)
		}
	})
	return db
}
