package modelstest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"mcpgateway/migrations"
	"mcpgateway/models"
)

// sqliteTemplate contains the bytes of a migrated, empty database file. Copying
// it is much faster than migrating.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "gwsqlite")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "template.db")
	if err := migrate(context.Background(), "sqlite:"+path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// reserveSize is the size of the disk space reserve next to a SQLite database, in
// bytes.
const reserveSize = 4 << 20

// SQLite returns the address of a new migrated SQLite database in the test's
// temporary directory. Its reserve takes no space, because writing one takes longer
// than many tests.
func SQLite(t testing.TB) string {
	t.Helper()
	template, err := sqliteTemplate()
	if err != nil {
		t.Fatalf("prepare SQLite database: %v", err)
	}
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	reserve := path + "-reserve"
	if err := os.WriteFile(reserve, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(reserve, reserveSize); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

func emptySQLite(t *testing.T) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
}

// migrate applies all migrations to the database at dsn and closes it, which
// also merges SQLite's write-ahead log into the file.
func migrate(ctx context.Context, dsn string) error {
	db, err := models.Open(ctx, dsn)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	_, err = migrations.Up(ctx, pool, db.Name())
	if e := pool.Close(); err == nil {
		err = e
	}
	return err
}
