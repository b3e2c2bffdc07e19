package models_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

func TestDialect(t *testing.T) {
	cases := []struct {
		dsn, want string
		bad       bool
	}{
		{dsn: "sqlite:data/gateway.db", want: "sqlite"},
		{dsn: "sqlite:/var/lib/gateway.db", want: "sqlite"},
		{dsn: "postgres://u:p@db/gateway", want: "postgres"},
		{dsn: "postgresql://db/gateway", want: "postgres"},
		{dsn: "postgres:///gateway?host=/run", want: "postgres"},
		{dsn: "sqlite:", bad: true},
		{dsn: "sqlite::memory:", bad: true},
		{dsn: "", bad: true},
		{dsn: "mysql://db", bad: true},
		{dsn: "gateway.db", bad: true},
		{dsn: "postgres://u:p@[db/gateway", bad: true},
	}
	for _, c := range cases {
		got, err := models.Dialect(c.dsn)
		if got != c.want || (err != nil) != c.bad || (err != nil && !errors.Is(err, models.ErrDSN)) {
			t.Errorf("Dialect(%q) = %q, %v; want %q, error %v", c.dsn, got, err, c.want, c.bad)
		}
	}
}

func TestOpenCreatesPrivateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new data", "a?b#c%20")
	modelstest.Open(t, "sqlite:"+filepath.Join(dir, "gateway.db"))
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the folder = %o, want 700", info.Mode().Perm())
	}
	if _, err := os.Stat(filepath.Join(dir, "gateway.db")); err != nil {
		t.Errorf("file not at its address: %v", err)
	}
}

// New databases have large pages. Existing ones keep their page size and
// content.
func TestSQLitePageSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	old, err := sql.Open("sqlite3", "file:"+path+"?_pragma=page_size(4096)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec("CREATE TABLE kept (id integer PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int{path: 4096, filepath.Join(t.TempDir(), "new.db"): 16384} {
		db := modelstest.Open(t, "sqlite:"+file)
		var size int
		if err := db.Raw("PRAGMA page_size").Scan(&size).Error; err != nil || size != want {
			t.Errorf("page size of %s = %d, %v, want %d", filepath.Base(file), size, err, want)
		}
		if file == path && !db.Migrator().HasTable("kept") {
			t.Error("table missing from the old database")
		}
	}
}

// TestSQLiteCommitsReachTheDisk checks every connection of the pool.
func TestSQLiteCommitsReachTheDisk(t *testing.T) {
	pool, err := modelstest.Open(t, modelstest.SQLite(t)).DB()
	if err != nil {
		t.Fatal(err)
	}
	synchronous := func(conn *sql.Conn) (level int) {
		t.Helper()
		if err := conn.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&level); err != nil {
			t.Fatal(err)
		}
		return level
	}
	const normal, full = 1, 2
	var conns []*sql.Conn
	for range pool.Stats().MaxOpenConnections {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		if got := synchronous(conn); got != full {
			t.Errorf("connection %d: level %d, want %d", len(conns), got, full)
		}
	}
	for _, conn := range conns[1:] {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := errors.New("failed")
	err = models.Relaxed(ctx, conns[0], func() error {
		if got := synchronous(conns[0]); got != normal {
			t.Errorf("relaxed connection: level %d, want %d", got, normal)
		}
		cancel()
		return failed
	})
	if got := synchronous(conns[0]); !errors.Is(err, failed) || got != full {
		t.Errorf("connection after Relaxed: level %d, want %d (%v)", got, full, err)
	}
	_ = conns[0].Close()
}

func TestOpenErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("this is no database, but it is longer than the header of one: "+string(make([]byte, 200))), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		ctx context.Context
		dsn string
	}{
		"no dialect":        {t.Context(), "gateway.db"},
		"folder is a file":  {t.Context(), "sqlite:" + filepath.Join(file, "gateway.db")},
		"not a database":    {t.Context(), "sqlite:" + file},
		"no listener":       {t.Context(), "postgres:///gateway?host=" + t.TempDir()},
		"cancelled context": {ended, "sqlite:" + filepath.Join(t.TempDir(), "gateway.db")},
		"invalid parameter": {t.Context(), "postgres:///gateway?sslmode=perhaps"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if db, err := models.Open(c.ctx, c.dsn); err == nil {
				t.Errorf("Open() = %v, want an error", db)
			}
		})
	}
}

// Callers log errors in their own format.
func TestReturnedErrorsAreNotLogged(t *testing.T) {
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		row := models.Revision{Topic: "twice", Revision: 1}
		if err := db.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Create(&row).Error; !errors.Is(err, gorm.ErrDuplicatedKey) {
			t.Errorf("insert of a duplicate key = %v", err)
		}
		if logged.Len() > 0 {
			t.Errorf("logged %s, want nothing", &logged)
		}
	})
}
