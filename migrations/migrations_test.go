package migrations_test

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

func pool(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	p, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUpAppliesMigrationsOnce(t *testing.T) {
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		db := modelstest.Open(t, dsn)
		before, err := migrations.Status(t.Context(), pool(t, db), db.Name())
		if err != nil {
			t.Fatal(err)
		}
		if len(before) == 0 {
			t.Fatal("no migrations")
		}
		for _, s := range before {
			if s.Applied {
				t.Errorf("%s applied on an empty database", s.Name)
			}
		}

		n, err := migrations.Up(t.Context(), pool(t, db), db.Name())
		if err != nil {
			t.Fatal(err)
		}
		if n != len(before) {
			t.Errorf("Up applied %d migrations, want %d", n, len(before))
		}
		after, err := migrations.Status(t.Context(), pool(t, db), db.Name())
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range after {
			if !s.Applied {
				t.Errorf("%s is still pending", s.Name)
			}
			if i > 0 && s.Version <= after[i-1].Version {
				t.Errorf("%s listed after %s", s.Name, after[i-1].Name)
			}
		}

		n, err = migrations.Up(t.Context(), pool(t, db), db.Name())
		if err != nil || n != 0 {
			t.Errorf("second Up applied %d migrations (%v), want none", n, err)
		}
	})
}

func TestConcurrentUp(t *testing.T) {
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		// Waiting for another process must not take seconds.
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		const processes = 6
		var (
			wg      sync.WaitGroup
			applied = make([]int, processes)
			errs    = make([]error, processes)
		)
		for i := range processes {
			wg.Go(func() {
				db, err := models.Open(ctx, dsn)
				if err != nil {
					errs[i] = err
					return
				}
				p, err := db.DB()
				if err != nil {
					errs[i] = err
					return
				}
				defer p.Close()
				applied[i], errs[i] = migrations.Up(ctx, p, db.Name())
			})
		}
		wg.Wait()
		total := 0
		for i, err := range errs {
			if err != nil {
				t.Errorf("process %d: %v", i, err)
			}
			total += applied[i]
		}
		db := modelstest.Open(t, dsn)
		steps, err := migrations.Status(t.Context(), pool(t, db), db.Name())
		if err != nil {
			t.Fatal(err)
		}
		if total != len(steps) {
			t.Errorf("%d migrations applied in total, want %d", total, len(steps))
		}
	})
}

func TestUpRespectsContextWhileLocked(t *testing.T) {
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		db := modelstest.Open(t, dsn)
		release := holdLock(t, db, dsn)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if n, err := migrations.Up(ctx, pool(t, db), db.Name()); err == nil {
			t.Errorf("Up applied %d migrations while another process held the lock", n)
		}
		release()
		if _, err := migrations.Up(t.Context(), pool(t, db), db.Name()); err != nil {
			t.Errorf("Up after the other process has finished: %v", err)
		}
	})
}

// holdLock acquires the lock of a migrating process and returns the function
// that releases it.
func holdLock(t *testing.T, db *gorm.DB, dsn string) (release func()) {
	t.Helper()
	query, holder := "SELECT pg_advisory_lock(4097083626)", pool(t, db)
	if db.Name() == "sqlite" {
		other := modelstest.Open(t, dsn+".migrating")
		query, holder = "BEGIN EXCLUSIVE", pool(t, other)
	}
	conn, err := holder.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	undo := map[string]string{"sqlite": "ROLLBACK", "postgres": "SELECT pg_advisory_unlock_all()"}[db.Name()]
	return func() {
		if _, err := conn.ExecContext(t.Context(), undo); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestUnknownDialectIsRejected(t *testing.T) {
	db := modelstest.Open(t, modelstest.SQLite(t))
	for _, dialect := range []string{"", "mysql", ".", "../migrations"} {
		if _, err := migrations.Up(t.Context(), pool(t, db), dialect); err == nil {
			t.Errorf("Up accepted the dialect %q", dialect)
		}
		if _, err := migrations.Status(t.Context(), pool(t, db), dialect); err == nil {
			t.Errorf("Status accepted the dialect %q", dialect)
		}
		if _, err := migrations.Files(dialect); err == nil {
			t.Errorf("Files accepted the dialect %q", dialect)
		}
	}
}

func TestDialectsHaveSameMigrations(t *testing.T) {
	names := func(dir string) []string {
		files, err := fs.Glob(os.DirFS(dir), "*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("migrations in %s: %v (%v)", dir, files, err)
		}
		return files
	}
	if diff := cmp.Diff(names("postgres"), names("sqlite")); diff != "" {
		t.Errorf("postgres against sqlite (-postgres +sqlite):\n%s", diff)
	}
}

func TestDialectsHaveSameTables(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests don't start PostgreSQL")
	}
	tables := map[string][]string{}
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		found, err := db.Migrator().GetTables()
		if err != nil {
			t.Fatal(err)
		}
		found = slices.DeleteFunc(found, func(name string) bool { return strings.HasPrefix(name, "sqlite_") })
		slices.Sort(found)
		tables[db.Name()] = found
	})
	if diff := cmp.Diff(tables["postgres"], tables["sqlite"]); diff != "" {
		t.Errorf("postgres against sqlite (-postgres +sqlite):\n%s", diff)
	}
}
