// Package modelstest provides real, migrated databases of both dialects for
// tests. Each test has its own database, so tests can run in parallel.
// PostgreSQL runs from Debian's server binaries in a temporary cluster without
// a network port.
package modelstest

import (
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
)

// Each runs f as the subtests "sqlite" and "postgres", each with a new migrated
// database that is removed afterwards.
func Each(t *testing.T, f func(t *testing.T, db *gorm.DB)) {
	t.Helper()
	EachDSN(t, func(t *testing.T, dsn string) { f(t, Open(t, dsn)) })
}

// EachDSN is like Each for tests that open the database themselves. f receives
// the address for models.Open.
func EachDSN(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, Postgres(t)) })
}

// EachEmptyDSN is like EachDSN with databases without tables.
func EachEmptyDSN(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, emptySQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, emptyPostgres(t)) })
}

// Open opens the database at dsn and closes it when the test ends.
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
			t.Errorf("close test database: %v", err)
		}
	})
	return db
}
